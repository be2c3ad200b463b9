/** What a live figure shows, as `docs/algorithms/NAME.figure.toml` says it. */

/** A parameter that the reader sets. `key` is a dotted name as of `-s`; what is shown times `factor` is what is set. */
export type Slider = {
  name: string;
  label: string;
  key: string;
  unit: string;
  values: number[];
  start: number;
  factor?: number;
};

/** Colours by name, those of tokens.css. */
export type Colour = "prague" | "cubic" | "reno" | "bbr" | "dctcp" | "spare";

/**
 * A recorded series: its values, its growth per second times 8e-6 (Mbit/s of a count of bytes), or its growth per packet
 * that the link could carry, in bins of `bin` seconds.
 */
export type Curve = { series: string; label: string; colour: Colour; as?: "value" | "rate" | "share"; bin?: number };

/** A closed form over them: its name in laws.ts, and what it needs. */
export type Law = { law: string; label: string; [parameter: string]: unknown };

/** `grows` lets the range follow what is above it. */
export type Panel = { label: string; log?: boolean; grows?: boolean; range: [number, number]; curves: Curve[]; laws?: Law[] };

export type Config = {
  title: string;
  scenario: string;
  /** Seconds that are shown. */
  window: [number, number];
  /** Values that sliders set, and their like that stay: `rate_mbps`, `rtt_ms`. */
  constants?: Record<string, number>;
  sliders: Slider[];
  panels: Panel[];
};
