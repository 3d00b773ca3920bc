"""`python -m kernelbench_torch.parquet FILE`: the rows of a Parquet file as JSON Lines."""

import json
import sys


def main():
    try:
        from pyarrow import parquet
    except ImportError:
        sys.exit(f"reading Parquet needs pyarrow: {sys.executable} -m pip install pyarrow, or export the dataset as JSON Lines")
    columns = ("code", "level", "name", "problem_id")
    try:
        file = parquet.ParquetFile(sys.argv[1])
        for row in file.read(columns=[c for c in columns if c in file.schema_arrow.names]).to_pylist():
            print(json.dumps(row))
    except Exception as error:
        sys.exit(f"{sys.argv[1]} cannot be read as Parquet: {error}")


if __name__ == "__main__":
    main()
