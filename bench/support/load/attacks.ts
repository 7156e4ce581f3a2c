import { connect } from "node:net";
import { WebSocket } from "ws";

export interface AttackTask {
  readonly attack: AttackName;
  /** Of the attacked exchange, with the base path. */
  readonly url: string;
  readonly socketUrl: string;
  /** The attacker's own address: budgets and limits hold for each address. */
  readonly address: string;
  /** A session of the attacker's account. */
  readonly token: string;
}

const LOOPS = 32;
const IDLE_CONNECTIONS = 2000;
const SOCKETS = 180;
const UNREAD = 64;
const REOPENED_AFTER_MS = 200;
const SYMBOL = "BTC-PERP";
/** Below the price band. */
const REFUSED = { symbol: SYMBOL, side: "BUY", type: "LIMIT", timeInForce: "GTC", price: "1000", quantity: "0.001" };
const BATCH_ITEMS = 20;
/** JSON of nearly 64 KiB, with nearly as many values as are allowed. */
const BIG_BODY = JSON.stringify({ ...REFUSED, more: Array.from({ length: 1400 }, (_, i) => `${i}${"x".repeat(38)}`) });

/** What one client at one address does to the exchange. Each function resolves once the attack has begun. */
export const ATTACKS = {
  "a busy core": async () => void setImmediate(keepBusy),
  connections: async (task: AttackTask) => {
    for (let i = 0; i < IDLE_CONNECTIONS; i++) openIdle(task);
  },
  subscriptions: async (task: AttackTask) => {
    for (let i = 0; i < SOCKETS; i++) subscribeAndUnsubscribe(task);
  },
  "unread large files": async (task: AttackTask) => {
    for (let i = 0; i < UNREAD; i++) askAndNeverRead(task);
  },
  "history pages": (task: AttackTask) =>
    repeat(task, () => get(task, `/market/trades?symbol=${SYMBOL}&limit=1000&startTime=1`)),
  "deep books": (task: AttackTask) =>
    repeat(task, (i) => get(task, `/market/orderbook?symbol=${SYMBOL}&depth=${1000 - (i % 200)}`)),
  "unknown client ids": (task: AttackTask) =>
    repeat(task, (i) => http(task, "DELETE", `/orders/client:unknown-${process.pid}-${i}`)),
  "login challenges": (task: AttackTask) =>
    repeat(task, (i) =>
      http(task, "POST", "/auth/challenge", JSON.stringify({ address: `0x${i.toString(16).padStart(40, "1")}` })),
    ),
  "batches of refused orders": (task: AttackTask) => {
    const items = new Array(BATCH_ITEMS).fill({ action: "PLACE", ...REFUSED });
    return repeat(task, () => http(task, "POST", "/orders/batch", JSON.stringify({ items })));
  },
  "large JSON bodies": (task: AttackTask) => repeat(task, () => http(task, "POST", "/orders", BIG_BODY)),
} as const satisfies Record<string, (task: AttackTask) => Promise<void>>;

export type AttackName = keyof typeof ATTACKS;

/** The control: takes a core from the exchange and sends nothing. */
function keepBusy(): void {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(keepBusy);
}

const target = ({ url, address }: AttackTask) => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), localAddress: address };
};

function openIdle(task: AttackTask): void {
  const socket = connect(target(task)).on("error", () => {});
  socket.on("close", () => setTimeout(openIdle, REOPENED_AFTER_MS, task));
}

function subscribeAndUnsubscribe(task: AttackTask): void {
  const socket = new WebSocket(task.socketUrl, { localAddress: task.address });
  const channels = [{ channel: "orderbook", symbol: SYMBOL, depth: 1000 }];
  const send = (op: string): void => socket.send(JSON.stringify({ op, channels }));
  // 48 messages a second: at 50 the exchange closes the socket.
  const timer = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    send("subscribe");
    send("unsubscribe");
  }, 42);
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(timer);
    setTimeout(subscribeAndUnsubscribe, REOPENED_AFTER_MS, task);
  });
}

function askAndNeverRead(task: AttackTask): void {
  const socket = connect(target(task)).on("error", () => {});
  socket.pause().write(get(task, "/docs/scalar.js"));
  setTimeout(() => {
    socket.destroy();
    askAndNeverRead(task);
  }, REOPENED_AFTER_MS);
}

const get = (task: AttackTask, path: string): string => http(task, "GET", path);

/** A request as text, ASCII only. */
function http({ url, token }: AttackTask, method: string, path: string, body = ""): string {
  const { host, pathname } = new URL(url);
  const head = [`${method} ${pathname}${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${token}`];
  if (body !== "") head.push("Content-Type: application/json", `Content-Length: ${body.length}`);
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** Sends requests on many connections, on each the next one as soon as the last one was answered. */
async function repeat(task: AttackTask, request: (i: number) => string): Promise<void> {
  let sent = 0;
  const open = (): void => {
    const socket = connect({ ...target(task), noDelay: true }).on("error", () => {});
    /** Bytes of the answer that are still to come; -1: its head, too. */
    let missing = -1;
    let head = "";
    const send = (): void => {
      missing = -1;
      head = "";
      socket.write(request(sent++));
    };
    socket.on("connect", send);
    socket.on("close", () => setTimeout(open, REOPENED_AFTER_MS));
    socket.on("data", (bytes) => {
      if (missing >= 0) missing -= bytes.length;
      else {
        head += bytes.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        missing = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) - (head.length - end - 4);
      }
      if (missing <= 0) send();
    });
  };
  for (let i = 0; i < LOOPS; i++) open();
}
