/** What is open, and what can be done with it: run, share, repeat. */

import { useSignal } from "@preact/signals";

import { link } from "../route";
import { announcement, engine, notice, tab } from "../state";
import { commandLine, fileName, nameIn, runOpen } from "./carry";
import { error, origin, resolved, text } from "./document";
import { encode } from "./share";

export function ScenarioBar() {
  const shared = useSignal("");
  const run = async (): Promise<void> => {
    if ((await runOpen()) === null) return;
    if (tab.value === "download") tab.value = "result";
    await remember();
  };
  const share = async (): Promise<void> => {
    const url = await remember();
    if (!url) return;
    shared.value = url;
    const isCopied = await navigator.clipboard.writeText(url).then(() => true, () => false);
    announcement.value = isCopied ? "Link copied" : "The link is in the field";
  };
  const toml = resolved.value?.toml ?? "";
  return (
    <>
      <div class="scenario-bar">
        <h1>{origin.value || (toml && nameIn(toml)) || "New scenario"}</h1>
        <button type="button" class="button main" disabled={error.value !== null} onClick={() => void run()}>Run</button>
        <button type="button" class="button" onClick={() => void share()}>Share</button>
      </div>
      {shared.value && <Link url={shared.value} toml={toml} />}
      {error.value && <p class="warning error" role="alert">{error.value.message}</p>}
      {resolved.value?.warnings.map((warning) => <p key={warning} class="warning">{warning}</p>)}
    </>
  );
}

/** Puts what is open into the address; the whole of it, or nothing if it is too long, which is then said. */
async function remember(): Promise<string> {
  try {
    const version = await engine.value.version();
    link.value = await encode({ text: text.value, name: origin.value, version, tab: tab.value });
    return new URL(`#s=${link.value}`, location.href).href;
  } catch (refused) {
    link.value = "";
    notice.value = (refused as Error).message;
    return "";
  }
}

function Link({ url, toml }: { url: string; toml: string }) {
  const select = (event: Event): void => (event.currentTarget as HTMLInputElement).select();
  return (
    <div class="link-box">
      <label>
        Link, {url.length.toLocaleString("en")} characters: everything is in it
        <input type="text" readOnly value={url} onFocus={select} />
      </label>
      <label>
        Repeats it on a command line, with the file {fileName(toml)} of the tab Download
        <input type="text" readOnly value={commandLine(toml)} onFocus={select} />
      </label>
    </div>
  );
}
