import { createReadStream, existsSync } from "node:fs";
import { networkOf, unmapIPv4 } from "./addresses.ts";

/** Which HTTP connections of a network are too many. WebSockets have a limit of their own. */
export interface ConnectionLimit {
  readonly max: number;
  /** Whether the limit holds for clients at this address. */
  covers(address: string): boolean;
}

/** The kernel's tables of connections (Linux). */
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** The kernel gives a page at a time, about 27 lines. */
const PAGE_BYTES = 4096;
/** The tables are read a page in each event-loop iteration. Then they rest for ten times as long as it took. */
const REST_FACTOR = 10;
const MIN_REST_MS = 100;
/** More networks are a reason to remove those without a connection. */
const MAX_NETWORKS = 20_000;

/**
 * Counts the HTTP connections of each network. uWebSockets.js says when a connection ends, but not whose it was. So the
 * counts only grow until the kernel's tables correct them, which happens before a network reaches its limit. A client
 * without keep-alive is refused for a moment if it opens more than half of its limit between two corrections.
 */
export class ConnectionCounts {
  private readonly limit: ConnectionLimit;
  private readonly tables: readonly string[];
  /** By network. */
  private counts = new Map<string, number>();
  /** WebSockets by network. */
  private readonly sockets = new Map<string, number>();
  /** Connections by network that were opened while the tables are read; null at other times. */
  private opened: Map<string, number> | null = null;
  private restsUntil = 0;

  private constructor(limit: ConnectionLimit, tables: readonly string[]) {
    this.limit = limit;
    this.tables = tables;
  }

  /** Null where the system does not show its connections: then nothing is limited. */
  static open(limit: ConnectionLimit): ConnectionCounts | null {
    const tables = TABLES.filter((table) => existsSync(table));
    return tables.length === 0 ? null : new ConnectionCounts(limit, tables);
  }

  /** Counts a new connection to `port`. Returns false if it is one too many; then it must be closed. */
  admit(address: string, port: number): boolean {
    const { max } = this.limit;
    if (!this.limit.covers(address)) return true;
    const network = networkOf(address);
    const count = (this.counts.get(network) ?? 0) + 1;
    if (count > max / 2 || this.counts.size > MAX_NETWORKS) void this.correct(port);
    if (count > max) return false;
    this.change(network, 1);
    return true;
  }

  /** A connection became a WebSocket. */
  socketOpened(address: string): void {
    const network = networkOf(address);
    this.change(network, -1);
    add(this.sockets, network, 1);
  }

  socketClosed(address: string): void {
    add(this.sockets, networkOf(address), -1);
  }

  private change(network: string, change: number): void {
    add(this.counts, network, change);
    if (this.opened !== null) add(this.opened, network, change);
  }

  private async correct(port: number): Promise<void> {
    const from = performance.now();
    if (this.opened !== null || from < this.restsUntil) return;
    const opened = new Map<string, number>();
    this.opened = opened;
    let counts: Map<string, number>;
    try {
      counts = await readConnections(this.tables, port);
    } catch {
      // Without the tables a client could stay refused for ever.
      counts = new Map();
    }
    for (const [network, count] of this.sockets) add(counts, network, -count);
    // Some of them may be in the tables already. The next correction removes them.
    for (const [network, count] of opened) add(counts, network, count);
    this.counts = counts;
    this.opened = null;
    const now = performance.now();
    this.restsUntil = now + Math.max(MIN_REST_MS, REST_FACTOR * (now - from));
  }
}

function add(counts: Map<string, number>, network: string, change: number): void {
  const count = (counts.get(network) ?? 0) + change;
  if (count > 0) counts.set(network, count);
  else counts.delete(network);
}

async function readConnections(tables: readonly string[], port: number): Promise<Map<string, number>> {
  const byRemote = new Map<string, number>();
  for (const table of tables) {
    let rest = "";
    for await (const text of createReadStream(table, { encoding: "latin1", highWaterMark: PAGE_BYTES })) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const remote = remoteOf(line, port);
        if (remote !== null) add(byRemote, remote, 1);
      }
    }
  }
  const counts = new Map<string, number>();
  for (const [remote, count] of byRemote) add(counts, networkOf(printAddress(remote)), count);
  return counts;
}

/** Number, local address and port, remote address and port, state, queues, timer, retransmits, user, timeout, inode. */
const LINE = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} ([0-9A-F]{2}) \S+ \S+ \S+ +\d+ +\d+ (\d+)/;
const LISTENING = "0A";
/** The process does not have the connection yet, or has closed it. */
const NO_INODE = "0";

/** The remote address of a connection to `port`, as the kernel prints it; null for any other line. */
export function remoteOf(line: string, port: number): string | null {
  const [, localPort, remote, state, inode] = LINE.exec(line) ?? [];
  if (localPort === undefined || Number.parseInt(localPort, 16) !== port) return null;
  return state === LISTENING || inode === NO_INODE ? null : (remote ?? null);
}

/** The address as uWebSockets.js prints it. The kernel prints it in words of four bytes, each with its last byte first. */
export function printAddress(remote: string): string {
  const hex = remote.toLowerCase().replace(/(..)(..)(..)(..)/g, "$4$3$2$1");
  if (hex.length === 8) return [...Buffer.from(hex, "hex")].join(".");
  return unmapIPv4((hex.match(/.{4}/g) ?? []).join(":"));
}
