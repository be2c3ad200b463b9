import assert from "node:assert/strict";
import { test } from "node:test";

import { LONGEST, ShareError, decode, encode } from "../src/scenario/share";

const SHARED = { text: 'name = "a"\n# ümlaut → 漢\n', name: "a <b>", version: "1.2+abc", tab: "sweep" as const };

/** What an attacker or an accident would put into a link. */
async function packed(document: string): Promise<string> {
  const stream = new Blob([document]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `1${Buffer.from(await new Response(stream).arrayBuffer()).toString("base64url")}`;
}

test("a link gives back what was shared", async () => {
  assert.deepEqual(await decode(await encode(SHARED)), SHARED);
});

test("a link needs no character that a mail program changes", async () => {
  assert.match(await encode(SHARED), /^1[\w-]+$/);
});

for (const [what, data] of Object.entries({
  "of another version": "2abc",
  empty: "",
  "with other characters": "1<script>",
  "that is no deflate stream": "1AAAA____",
})) {
  test(`a link ${what} is refused in one line`, async () => {
    await assert.rejects(decode(data), (error) => error instanceof ShareError && !error.message.includes("\n"));
  });
}

test("a link that was cut is refused", async () => {
  const data = await encode(SHARED);
  await assert.rejects(decode(data.slice(0, -8)), /damaged/);
});

test("a link that unpacks to much more than it is is refused", async () => {
  await assert.rejects(decode(await packed(" ".repeat(5_000_000))), /more than/);
});

test("a link without a scenario is refused", async () => {
  for (const document of ["null", "[]", "{}", '{"text": 1, "name": "a", "version": "1"}', '"text"']) {
    await assert.rejects(decode(await packed(document)), /no scenario/);
  }
});

test("a tab that the page has not is left out", async () => {
  const { tab } = await decode(await packed('{"text": "", "name": "", "version": "", "tab": "constructor"}'));
  assert.equal(tab, undefined);
});

test("a scenario that is too long for a link is refused with what to do", async () => {
  let text = "";
  for (let n = 0; text.length < 3 * LONGEST; n += 1) text += Math.sin(n).toString(36);
  await assert.rejects(encode({ ...SHARED, text }), /send the file/);
});
