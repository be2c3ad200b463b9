declare module "*.toml" {
  const text: string;
  export default text;
}

declare module "*.css";

/** Behaviours that report and lab share; plain JavaScript, of which this is used here. */
declare module "*/page/page.js" {
  export function themeSwitch(button: HTMLElement): void;
}
