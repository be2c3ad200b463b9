/** Keeps the page for use without a network: what it is made of at once, scenarios as they are opened. */

declare const FILES: string[];
declare const VERSION: string;

/** Of the service worker's types, which the page's own exclude, what is used here. */
type Extendable = Event & { waitUntil(until: Promise<unknown>): void };
type Fetching = Extendable & { request: Request; respondWith(response: Promise<Response>): void };
declare const self: {
  addEventListener(type: "install" | "activate", listener: (event: Extendable) => void): void;
  addEventListener(type: "fetch", listener: (event: Fetching) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  registration: { scope: string };
};

const PREFIX = `sojourn-lab:${self.registration.scope}:`;
const NAME = PREFIX + VERSION;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(NAME)
      .then((cache) => cache.addAll(FILES))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => names.filter((name) => name.startsWith(PREFIX) && name !== NAME))
      .then((old) => Promise.all(old.map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname, origin } = new URL(request.url);
  const scope = new URL(self.registration.scope);
  const isOurs = request.method === "GET" && origin === scope.origin && pathname.startsWith(scope.pathname);
  if (isOurs && !pathname.startsWith(`${scope.pathname}api/`)) event.respondWith(answer(request));
});

/** From the cache; else from the network, and then kept. A page's address is the page, whatever follows `?`. */
async function answer(request: Request): Promise<Response> {
  const cache = await caches.open(NAME);
  const kept = await cache.match(request.mode === "navigate" ? "./" : request, { ignoreSearch: true });
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) await cache.put(request, response.clone());
  return response;
}
export {};
