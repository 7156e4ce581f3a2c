import { BASE_PATH } from "../front/common/paths.ts";
import { readSymbolPage, type SymbolPage } from "../front/exchange/symbol-page.ts";
import type { UpstreamAnswer, UpstreamRequest } from "./upstream-request.ts";

type Send = (url: string, request: UpstreamRequest) => Promise<UpstreamAnswer>;

/**
 * Reads the public state of all symbols from the leader at `url`. Rejects with an Error if it does not answer as a leader of
 * one exchange and epoch does.
 */
export async function readLeaderState(url: string, send: Send): Promise<SymbolPage[]> {
  const { body } = await get(url, "/market/symbols", send);
  const { data } = JSON.parse(body.toString()) as { data: { symbol: string }[] };
  const pages: SymbolPage[] = [];
  // One after the other: each takes the leader's thread for some milliseconds.
  for (const { symbol } of data)
    pages.push(readSymbolPage((await get(url, `/replication/symbols/${encodeURIComponent(symbol)}`, send)).body));
  const [first] = pages;
  if (pages.some(({ exchangeId, epoch }) => exchangeId !== first.exchangeId || epoch !== first.epoch))
    throw new Error(`${url} has changed while its state was read`);
  return pages;
}

async function get(url: string, path: string, send: Send): Promise<UpstreamAnswer> {
  const answer = await send(url, { method: "GET", target: `${BASE_PATH}${path}`, headers: {}, body: null });
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status} to ${path}: ${textOf(answer)}`);
  return answer;
}

const textOf = ({ body }: UpstreamAnswer): string => body.toString("utf8", 0, 300);
