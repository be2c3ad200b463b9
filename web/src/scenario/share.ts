/**
 * A scenario as a link: everything is in the fragment, which no browser sends anywhere. `1` and the text, as JSON, deflated, in
 * base64url. What comes from a link is a stranger's: it is bounded, checked, and then only resolved like any text.
 */

import type { Tab } from "../state";

export type Shared = {
  /** The scenario file. */
  text: string;
  /** What it is called in the page. */
  name: string;
  /** Of the engine that the sender saw; numbers of another version may differ. */
  version: string;
  tab?: Tab;
};

const VERSION = "1";
/** Characters of a link's data; mail programs cut longer ones, and browsers end at 2 MB. */
export const LONGEST = 32_768;
/** Bytes of what it unpacks to. */
const LARGEST = 1_000_000;
const TABS: readonly string[] = ["result", "compare", "sweep", "measured", "download"] satisfies Tab[];

/** What is wrong with a link, in one line. */
export class ShareError extends Error {
  override readonly name = "ShareError";
}

/** Rejects with ShareError if the scenario is too long for a link. */
export async function encode(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  const packed = await collected(piped(bytes, new CompressionStream("deflate-raw")), Infinity);
  const data = VERSION + base64url(packed);
  if (data.length > LONGEST) {
    throw new ShareError(`this scenario makes a link of ${data.length} characters; expected at most ${LONGEST}: send the file`);
  }
  return data;
}

/** Rejects with ShareError. */
export async function decode(data: string): Promise<Shared> {
  if (data.length > LONGEST) throw new ShareError(`the link has ${data.length} characters; expected at most ${LONGEST}`);
  if (!data.startsWith(VERSION)) {
    throw new ShareError(`the link is of version ${JSON.stringify(data.slice(0, 1))}; expected ${VERSION}: is this page older than the link?`);
  }
  let document: unknown;
  try {
    const bytes = await collected(piped(unbase64url(data.slice(1)), new DecompressionStream("deflate-raw")), LARGEST);
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof ShareError) throw error;
    throw new ShareError("the link is damaged: it may have been cut; ask for it again");
  }
  return checked(document);
}

function checked(document: unknown): Shared {
  const { text, name, version, tab } = (typeof document === "object" && document !== null ? document : {}) as Record<string, unknown>;
  if (typeof text !== "string" || typeof name !== "string" || typeof version !== "string") {
    throw new ShareError("the link has no scenario; expected text, name and version");
  }
  return { text, name, version, ...(isTab(tab) ? { tab } : {}) };
}

function isTab(value: unknown): value is Tab {
  return typeof value === "string" && TABS.includes(value);
}

function piped(bytes: Uint8Array<ArrayBuffer>, through: ReadableWritablePair): ReadableStream<Uint8Array> {
  return new Blob([bytes]).stream().pipeThrough(through as ReadableWritablePair<Uint8Array, Uint8Array<ArrayBuffer>>);
}

/** What a stream gives, in one piece; ShareError as soon as it is longer than `most`, so that nothing can unpack without end. */
async function collected(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    length += read.value.length;
    if (length > most) {
      await reader.cancel();
      throw new ShareError(`the link unpacks to more than ${most} bytes`);
    }
    pieces.push(read.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Throws if there is another character. */
function unbase64url(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[\w-]*$/.test(text)) throw new Error("not base64url");
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
}
