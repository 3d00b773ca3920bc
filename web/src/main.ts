import { h } from "./dom.ts";

document.getElementById("app")?.append(h("p", {}, "KernelBench"));
