import { startFrame } from "./frame.ts";

const root = document.getElementById("app");
if (root) void startFrame(root);
