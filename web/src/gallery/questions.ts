/** The questions, in the order in which they are shown. */

import bbr from "../../gallery/bbr.toml";
import cake from "../../gallery/cake.toml";
import call from "../../gallery/call.toml";
import media from "../../gallery/media.toml";
import noMarks from "../../gallery/no-marks.toml";
import pragueCubic from "../../gallery/prague-cubic.toml";
import sceL4s from "../../gallery/sce-l4s.toml";
import wifi from "../../gallery/wifi.toml";
import { read, type Question } from "./entry";

const FILES: Record<string, string> = {
  "prague-cubic": pragueCubic,
  cake,
  "no-marks": noMarks,
  "sce-l4s": sceL4s,
  call,
  wifi,
  bbr,
  media,
};

export const questions: readonly Question[] = Object.entries(FILES).map(([id, text]) => read(id, text));
