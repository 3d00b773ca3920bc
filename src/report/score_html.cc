// The page of a score sheet: for each setting its models side by side.

#include <fmt/format.h>

#include <algorithm>

#include "report/html_assets.h"
#include "report/score_formats.h"
#include "report/score_plots.h"
#include "report/svg_plots.h"
#include "report/text.h"
#include "report/view.h"

namespace kb {
namespace {

using Models = std::vector<const ModelScores*>;

std::string Small(const std::string& value, const std::string& note) {
  return fmt::format("<td class='num'>{}{}</td>", value, note.empty() ? "" : "<br><small>" + note + "</small>");
}

std::string Card(const std::string& title, const std::string& hint, const std::string& body) {
  return fmt::format("<section class='card'><h2>{}</h2><p class='hint'>{}</p>{}</section>", title, hint, body);
}

std::string Table(const std::string& heading, const std::string& rows, const char* style = "") {
  return fmt::format("<div class='scroll'><table class='{}'><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
                     style, heading, rows);
}

std::string ModelCell(const std::string& model, size_t index, const std::string& note) {
  return fmt::format("<td class='model'>{}{}{}</td>", Swatch(index), EscapeHtml(ModelLabel(model)),
                     note.empty() ? "" : "<br><small>" + note + "</small>");
}

std::string Heading(std::initializer_list<std::string> left, const std::vector<std::string>& right) {
  std::string html;
  for (const std::string& title : left) html += "<th>" + title + "</th>";
  for (const std::string& title : right) html += "<th class='num'>" + title + "</th>";
  return html;
}

std::vector<std::string> ThresholdTitles(const ScoreOptions& options) {
  std::vector<std::string> titles;
  for (const double p : options.thresholds) titles.push_back(fmt::format("fast<sub>{}</sub>", p));
  return titles;
}

std::string ScoreCells(const Score& score) {
  std::string html;
  for (size_t i = 0; i < score.curve.size(); ++i) html += Small(ShareText(score, i), ShareIntervalText(score, i));
  html += Small(MeanText(score, &Figures::geometric), MeanIntervalText(score));
  for (const auto mean : {&Figures::geometric_faster, &Figures::geometric_or_one, &Figures::mean, &Figures::median})
    html += Small(MeanText(score, mean), "");
  return html;
}

std::string Problems(const Score& score) {
  return CountText(score.problems) + (score.problems == 1 ? " problem" : " problems");
}

std::string Facts(const ModelScores& model) {
  const std::string facts =
      Problems(model.all) + ", " + CountText(model.samples) + (model.samples == 1 ? " sample" : " samples");
  return model.runs.empty() ? facts : facts + "; " + EscapeHtml(fmt::format("{}", fmt::join(model.runs, ", ")));
}

bool AnyMissing(const Models& models) {
  return std::any_of(models.begin(), models.end(), [](const ModelScores* model) { return !model->missing.empty(); });
}

std::string ScoresCard(const Models& models, const ScoreOptions& options) {
  std::vector<std::string> titles = ThresholdTitles(options);
  for (const char* title : {"geometric mean", "faster only", "incorrect as 1", "mean", "median"})
    titles.push_back(title);
  std::string rows;
  for (size_t i = 0; i < models.size(); ++i) {
    const ModelScores& model = *models[i];
    rows += "<tr>" + ModelCell(model.model, i, Facts(model)) + ScoreCells(model.all) + "</tr>";
    if (model.with_unscored) {
      rows += "<tr><td class='part'>with unscored: " + Problems(*model.with_unscored) + "</td>" +
              ScoreCells(*model.with_unscored) + "</tr>";
    }
    if (model.without_metr.problems == model.all.problems) continue;
    rows += "<tr><td class='part'>without METR's removed: " + Problems(model.without_metr) + "</td>" +
            ScoreCells(model.without_metr) + "</tr>";
  }
  const std::string cap =
      options.cap ? fmt::format(" Means take a speedup above {0:g}× for {0:g}×.", *options.cap) : std::string();
  return Card("Scores",
              fmt::format("Of all problems that count, each with {}. Geometric mean, mean and median are over the "
                          "correct ones, except where an incorrect one counts as 1×.{} In brackets: 95% confidence.{}",
                          RepresentedBy(options), cap, EscapeHtml(RangeNote(AnyMissing(models)))),
              Table(Heading({"Model"}, titles), rows, "dense"));
}

std::string CountRange(const Heatmap::Cell& cell) {
  const std::string low = std::to_string(cell.count);
  return cell.if_all_pass ? FormatRange(low, std::to_string(cell.if_all_pass->count)) : low;
}

std::string HeatCard(const char* title, const Heatmap& map) {
  std::string rows;
  for (size_t i = 0; i < map.rows.size(); ++i) {
    rows += "<tr>" + ModelCell(map.rows[i].model, i, "");
    for (const auto& cell : map.rows[i].cells) {
      rows += cell ? fmt::format("<td class='cell' style='--v:{:.3f}'>{}<br><small>{} of {}</small></td>", cell->value,
                                 ShareText(*cell, cell->if_all_pass), CountRange(*cell), cell->total)
                   : "<td class='num'>–</td>";
    }
    rows += "</tr>";
  }
  std::vector<std::string> titles;
  for (const std::string& name : map.parts) titles.push_back(EscapeHtml(name));
  return Card(title, "Share of problems solved correctly and faster than the baseline, fast<sub>1</sub>.",
              Table(Heading({"Model"}, titles), rows, "heat"));
}

std::string LowEndNote(const Models& models) {
  return AnyMissing(models) ? " Drawn is the low end of each range: all that lack a verdict or a time fail." : "";
}

std::string CurvesCard(const Models& models) {
  std::vector<Curve> curves;
  for (const ModelScores* model : models) curves.push_back({ModelLabel(model->model), model->outcomes});
  return Card(
      "fast<sub>p</sub>",
      "The share of problems solved correctly and more than p times as fast as the baseline; at p = 0, correctly "
      "at any speed." +
          std::string(models.size() == 1 ? " Shaded: 95% confidence (Wilson)." : "") + LowEndNote(models),
      "<div class='scroll'><div class='mid'>" + FastPPlot(curves) + "</div></div>");
}

// One plot for pass@k and one for fast_1, where these thresholds were asked for.
std::string SamplesCards(const Models& models, const ScoreOptions& options) {
  std::string html;
  for (const double p : {0.0, 1.0}) {
    const auto at = std::find(options.thresholds.begin(), options.thresholds.end(), p);
    if (at == options.thresholds.end()) continue;
    const auto column = static_cast<size_t>(at - options.thresholds.begin());
    std::vector<KCurve> curves;
    bool several = false;
    for (const ModelScores* model : models) {
      KCurve curve{ModelLabel(model->model), {}};
      for (const AtK& each : model->at_k) curve.points.push_back({each.k, each.fast[column]});
      several = several || curve.points.size() > 1;
      curves.push_back(std::move(curve));
    }
    if (!several) continue;
    html += Card(p == 0 ? "pass@k" : "fast<sub>1</sub> of the best of k",
                 "The chance that one of k samples of a problem is correct" + std::string(p == 0 ? "" : " and faster") +
                     ", unbiased. Bars: 95% confidence (bootstrap over problems)." + LowEndNote(models),
                 "<div class='scroll'><div class='mid'>" + SamplesOfKPlot(curves) + "</div></div>");
  }
  return html;
}

std::string FunnelCard(const Models& models) {
  std::string rows;
  for (size_t i = 0; i < models.size(); ++i) {
    const Funnel& funnel = models[i]->funnel;
    rows += "<tr>" + ModelCell(models[i]->model, i, "") + "<td class='num'>" + CountText(funnel.generated) + "</td>";
    for (const int64_t count : {funnel.static_passed, funnel.built, funnel.ran, funnel.correct, funnel.faster}) {
      const double share = funnel.generated ? static_cast<double>(count) / static_cast<double>(funnel.generated) : 0;
      rows += fmt::format("<td class='cell' style='--v:{:.3f}'>{}<br><small>{}</small></td>", share, CountText(count),
                          FormatPercent(share));
    }
    rows += "</tr>";
  }
  return Card("How far samples came", "All samples of the problems that count.",
              Table(Heading({"Model"}, {"generated", "passed the static check", "built", "ran", "correct", "faster"}),
                    rows, "heat"));
}

std::string FailuresCard(const Models& models) {
  std::vector<std::string> names, titles;
  for (const VerdictKind& kind : VerdictKinds()) {
    const bool occurs = std::any_of(models.begin(), models.end(), [&](const ModelScores* model) {
      return std::any_of(model->verdicts.begin(), model->verdicts.end(),
                         [&](const auto& entry) { return entry.first == kind.name; });
    });
    if (!occurs || kind.reached == Stage::kCorrect) continue;
    names.emplace_back(kind.name);
    titles.emplace_back(kind.label);
  }
  if (names.empty()) return "";
  std::string rows;
  for (size_t i = 0; i < models.size(); ++i) {
    rows += "<tr>" + ModelCell(models[i]->model, i, "");
    for (const std::string& name : names) {
      const auto& verdicts = models[i]->verdicts;
      const auto found =
          std::find_if(verdicts.begin(), verdicts.end(), [&](const auto& entry) { return entry.first == name; });
      rows += "<td class='num'>" + (found == verdicts.end() ? "0" : CountText(found->second)) + "</td>";
    }
    rows += "</tr>";
  }
  return Card("Why samples failed", "Verdicts of the samples that are not correct.",
              Table(Heading({"Model"}, titles), rows));
}

std::string UnscoredCard(const Models& models) {
  std::string rows;
  for (const ModelScores* model : models) {
    for (const UnscoredProblem& each : model->unscored) {
      rows += fmt::format("<tr><td>{}</td><td>{}</td><td class='num'>{}</td><td>{}</td></tr>",
                          EscapeHtml(ModelLabel(model->model)), EscapeHtml(each.problem), each.samples,
                          EscapeHtml(each.reason));
    }
  }
  if (rows.empty()) return "";
  return Card("Left out", "Problems that count for no score, and why.",
              "<details class='more'><summary>Show them</summary><div>" +
                  Table("<th>Model</th><th>Problem</th><th class='num'>Samples</th><th>Reason</th>", rows) +
                  "</div></details>");
}

std::string MissingCard(const Models& models) {
  std::string rows;
  for (const ModelScores* model : models) {
    for (const MissingSample& each : model->missing) {
      const std::string candidate = each.sample ? fmt::format("sample {}", *each.sample) : each.path;
      rows += "<tr>";
      for (const std::string& cell : {ModelLabel(model->model), each.problem, candidate, each.run,
                                      std::string(each.id.empty() ? "verdict" : "time"), OneLine(each.reason, 300)})
        rows += "<td>" + EscapeHtml(cell) + "</td>";
      rows += "</tr>";
    }
  }
  if (rows.empty()) return "";
  return Card("Without a verdict or a time", "Candidates that make ranges of the scores, and why.",
              Table("<th>Model</th><th>Problem</th><th>Candidate</th><th>Run</th><th>Lacks</th><th>Reason</th>", rows));
}

std::string EngineCard(const std::vector<EngineTrouble>& engine) {
  std::string rows;
  for (const EngineTrouble& each : engine) {
    std::string errors;
    for (const auto& [error, count] : each.errors)
      errors += fmt::format("{}{}× {}", errors.empty() ? "" : "<br>", count, EscapeHtml(OneLine(error, 300)));
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class='num'>{}</td><td class='num'>{}</td><td>{}</td></tr>",
        EscapeHtml(each.run), EscapeHtml(ModelLabel(each.model)),
        EscapeHtml(each.device + ", " + each.protocol + ", " + each.size), each.failed, each.unfinished, errors);
  }
  if (rows.empty()) return "";
  return Card("Jobs without a verdict", "The engine or the machine failed, or the run is not finished.",
              Table("<th>Run</th><th>Model</th><th>Setting</th><th class='num'>failed</th><th class='num'>not "
                    "finished</th><th>Errors</th>",
                    rows));
}

std::string MixedCard(const std::vector<MixedProblem>& mixed) {
  std::string rows;
  for (const MixedProblem& each : mixed) {
    for (const MixedProblem::Text& text : each.texts) {
      rows +=
          fmt::format("<tr><td>{}</td><td>{}</td><td class='num'>{}</td><td>{}</td></tr>", EscapeHtml(each.problem),
                      EscapeHtml(text.name()), text.samples, EscapeHtml(fmt::format("{}", fmt::join(text.runs, ", "))));
    }
  }
  if (rows.empty()) return "";
  return Card("Different texts of a problem",
              "Verdicts that count although they are about different texts, the newest first. run or generate judges "
              "them again with the present one.",
              Table("<th>Problem</th><th>Text</th><th class='num'>Verdicts</th><th>Runs</th>", rows));
}

std::string SettingSection(const Setting& setting, const ScoreSheet& sheet) {
  Models models;
  std::vector<std::string> torch;
  for (const ModelScores& model : sheet.models) {
    if (model.setting != setting) continue;
    models.push_back(&model);
    for (const std::string& version : model.torch) {
      if (std::find(torch.begin(), torch.end(), version) == torch.end()) torch.push_back(version);
    }
  }
  const auto heat = [&](const char* title, std::vector<Slice> ModelScores::*slices) {
    for (const Heatmap& map : Heatmaps(sheet, slices)) {
      if (map.setting == setting) return HeatCard(title, map);
    }
    return std::string();
  };
  std::string html =
      fmt::format("<h2 class='setting'>{}</h2><p class='sub'>PyTorch {}</p>", EscapeHtml(setting.label()),
                  torch.empty() ? kDash : EscapeHtml(fmt::format("{}", fmt::join(torch, ", "))));
  html += ScoresCard(models, sheet.options) + heat("By level", &ModelScores::levels);
  html += "<div class='halves'>" + CurvesCard(models) + SamplesCards(models, sheet.options) + "</div>";
  return html + heat("By operator family", &ModelScores::families) +
         heat("By what dominates", &ModelScores::dominated_by) + FunnelCard(models) + FailuresCard(models) +
         MissingCard(models) + UnscoredCard(models);
}

}  // namespace

std::string ScoreHtml(const ScoreSheet& sheet) {
  std::string html = PageHead("KernelBench scores", "") + "<header><h1>KernelBench scores</h1></header><main>";
  if (sheet.models.empty()) html += Card("Nothing to score", "No stored evaluation is in this selection.", "");
  std::vector<Setting> settings;
  for (const ModelScores& model : sheet.models) {
    if (std::find(settings.begin(), settings.end(), model.setting) == settings.end()) settings.push_back(model.setting);
  }
  for (const Setting& setting : settings) html += SettingSection(setting, sheet);
  return html + MixedCard(sheet.mixed_texts) + EngineCard(sheet.engine) +
         "<footer><p>Speedup is baseline time over candidate time. A dash stands for what was not "
         "measured.</p></footer></main></body></html>\n";
}

}  // namespace kb
