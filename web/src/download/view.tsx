/** What of a run can be kept: files made in this page, and the command that repeats it. */

import { useState } from "preact/hooks";

import type { Output } from "../engine/engine";
import { bottleneck, queueRows } from "../run/glance";
import { type RunRecord, launch } from "../runs";
import { commandLine, fileName } from "../scenario/carry";
import { engine } from "../state";
import { hasCapture, withCapture } from "./capture";
import { type File, files } from "./files";
import "./download.css";

export function DownloadView({ run }: { run: RunRecord }) {
  const output = run.output.value;
  const [error, setError] = useState("");
  if (!output) return <p class="hint">The run goes on; its files are here when it is done.</p>;
  const act = async (file: File): Promise<void> => {
    try {
      setError("");
      await file.save();
    } catch (refused) {
      setError((refused as Error).message);
    }
  };
  return (
    <article class="download" aria-label="Download">
      <h2>{run.label}</h2>
      <ul class="files">
        {files(run, output).map((file) => (
          <li key={file.kind}>
            <button type="button" class="button" onClick={() => void act(file)}>{file.kind}</button>
            <span>{file.says}</span>
          </li>
        ))}
        {output.captures.length === 0 && <Capture run={run} output={output} refuse={setError} />}
      </ul>
      {error && <p class="warning" role="alert">{error}</p>}
      <h3>On a command line</h3>
      <p>With {fileName(run.toml)} of above, the same numbers to the last bit:</p>
      <pre class="command" tabIndex={0}>{commandLine(run.toml)}</pre>
    </article>
  );
}

type CaptureProps = { run: RunRecord; output: Output; refuse: (message: string) => void };

/** A run without captures is repeated with one: the engine gives the same packets again. */
function Capture({ run, output, refuse }: CaptureProps) {
  const port = bottleneck(queueRows(output))?.name;
  if (!port) return null;
  const again = async (): Promise<void> => {
    try {
      const text = hasCapture(run.toml) ? run.toml : withCapture(run.toml, port);
      const { toml } = await engine.value.resolve(text);
      launch(toml, `${run.label}, with a capture`, { captures: true });
    } catch (refused) {
      refuse((refused as Error).message);
    }
  };
  return (
    <li>
      <button type="button" class="button" onClick={() => void again()}>pcapng</button>
      <span>
        {hasCapture(run.toml) ? "runs it again and keeps its captures" : `adds a capture of ${port} to the scenario and runs it again`}
        ; Wireshark reads the file
      </span>
    </li>
  );
}
