import type { TradingOp } from "../wire/schema/trading.ts";
import type { Answer } from "./answer.ts";
import type { Log } from "./call.ts";
import type { RequestId } from "./channel-requests.ts";
import type { Connection } from "./connection.ts";
import { ApiError } from "./errors.ts";
import { errorJson } from "./socket-errors.ts";

/** A trading request on a WebSocket, and the one answer to it. When the socket closes first, nobody hears the answer. */
export class SocketCall implements Answer {
  private readonly connection: Connection;
  private readonly op: TradingOp;
  private readonly id: RequestId;

  constructor(connection: Connection, op: TradingOp, id: RequestId) {
    this.connection = connection;
    this.op = op;
    this.id = id;
  }

  get done(): boolean {
    return this.connection.socket.closed;
  }

  reply(status: number, json: string): void {
    this.connection.reply(`{"op":"${this.op}","id":${JSON.stringify(this.id)},"status":${status},"result":${json}}`);
  }

  refuse(error: ApiError): void {
    this.connection.reply(errorJson(this.id, error, Date.now()));
  }

  fail(thrown: unknown, log: Log): void {
    if (thrown instanceof ApiError) return this.refuse(thrown);
    const { op, id } = this;
    log.error({ err: thrown, op, id, accountId: this.connection.identity?.accountId }, "a socket's request failed");
    this.refuse(new ApiError("INTERNAL"));
  }
}

/** For what the exchange does by itself: it must be done, though nobody waits for it. */
export const UNHEARD: Answer = {
  done: false,
  reply() {},
  refuse() {},
  fail(thrown, log) {
    log.error({ err: thrown }, "orders could not be canceled after a disconnect");
  },
};
