import { type Dict, Exchange, ExchangeNotAvailable, NetworkError, RequestTimeout } from "ccxt";
import { Addresses } from "../client/addresses.ts";
import { LEAVING } from "../client/retry.ts";

/** About ten seconds. A standby needs one or two to take over. */
const MOVES = 40;
const MOVE_WAIT_MS = 250;

/** The process does not lead at the moment; nothing was done. */
class NotLeading extends ExchangeNotAvailable {
  /** Where the leader is, if the process knows. */
  readonly leader: string | undefined;

  constructor(message: string, leader: unknown) {
    super(message);
    this.leader = typeof leader === "string" ? leader : undefined;
  }
}

/** The exception for a refusal of a process that another one may replace; null for any other refusal. */
export const notLeading = (code: string, message: string, details: Readonly<Dict> | undefined): NotLeading | null =>
  LEAVING.has(code) ? new NotLeading(message, details?.leader) : null;

/** No response. ccxt's subclasses are also refusals. */
const isLost = (error: unknown): boolean =>
  error instanceof RequestTimeout || (error instanceof NetworkError && error.constructor === NetworkError);

/**
 * Follows the leader among `options.hostnames`, the addresses of a leader, its standbys and gateways: `hostname` is the
 * one in use. A request that was refused because another process leads is sent again there, and so is a GET without a
 * response. Other requests without a response are never repeated: nobody knows what they did.
 */
export class PerpdFailover extends Exchange {
  private addresses: Addresses | null = null;

  override async request(
    path: string,
    api = "public",
    method = "GET",
    params: Dict = {},
    headers?: Dict,
    body?: string,
    config: Dict = {},
  ) {
    const send = () => super.request(path, api, method, params, headers, body, config);
    return this.following(send, method === "GET");
  }

  /** Calls `send` again at other hosts while it is refused for want of a leader, and after a lost response if `isRepeatable`. */
  protected async following<T>(send: () => Promise<T>, isRepeatable: boolean): Promise<T> {
    for (let moves = 0; ; moves++) {
      const from = String(this.hostname);
      try {
        return await send();
      } catch (error) {
        const isRefused = error instanceof NotLeading;
        if (!this.leave(from, error) || moves === MOVES || !(isRefused || (isRepeatable && isLost(error)))) throw error;
        await this.sleep(MOVE_WAIT_MS);
      }
    }
  }

  /** Goes to another host if the error says that this one does not answer or lead. Returns whether there is another. */
  private leave(from: string, error: unknown): boolean {
    const isRefused = error instanceof NotLeading;
    if (!isRefused && !isLost(error)) return false;
    this.addresses ??= new Addresses(hostnamesOf(this).map((hostname) => `http://${hostname}`));
    if (this.addresses.count < 2) return false;
    this.addresses.leave(`http://${from}`, isRefused ? error.leader : undefined);
    const { host } = new URL(this.addresses.current);
    if (host === from) return true;
    // The streams go on at the next host. Two connections must not feed one book.
    const url = this.implodeHostname(this.urls.api.ws);
    this.hostname = host;
    const clients = this.clients as Record<string, { close(): void }>;
    if (this.implodeHostname(this.urls.api.ws) !== url) clients[url]?.close();
    return true;
  }
}

function hostnamesOf({ hostname, options }: Exchange): string[] {
  const given: unknown = options.hostnames;
  const all = Array.isArray(given) ? given.map(String) : [];
  return [...new Set([String(hostname), ...all])];
}
