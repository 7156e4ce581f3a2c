import { insistOnReply } from "./documented-replies.ts";

/**
 * Imported for its side effect: a response to fetch() that openapi.json does not allow becomes an uncaught exception.
 */
const fetchOnly = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const response = await fetchOnly(input, init);
  const { pathname, search } = new URL(input instanceof Request ? input.url : String(input));
  const method = init?.method ?? (input instanceof Request ? input.method : "GET");
  const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : undefined;
  const reply = {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.clone().text(),
  };
  insistOnReply(method, pathname + search, body, reply);
  return response;
};
