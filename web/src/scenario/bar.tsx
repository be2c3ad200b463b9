/** What is open, and what can be done with it: run, share, repeat. */

import { useSignal } from "@preact/signals";

import { announcement, notice, tab } from "../state";
import { commandLine, fileName, nameIn, runOpen } from "./carry";
import { error, origin, resolved, text } from "./document";
import { link, linkTo } from "./link";

export function ScenarioBar() {
  const shared = useSignal("");
  const run = async (): Promise<void> => {
    if ((await runOpen()) !== null && tab.value === "download") tab.value = "result";
  };
  const share = async (): Promise<void> => {
    try {
      link.value = await linkTo(text.value, origin.value, tab.value);
      shared.value = new URL(`#s=${link.value}`, location.href).href;
    } catch (refused) {
      notice.value = (refused as Error).message;
      return;
    }
    const isCopied = await navigator.clipboard.writeText(shared.value).then(() => true, () => false);
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
