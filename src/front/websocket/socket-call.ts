import type { TradingOp } from "../../wire/schema/trading.ts";
import type { Quota } from "../common/buckets.ts";
import { ApiError } from "../common/errors.ts";
import { errorJson, type RequestId } from "../common/socket-errors.ts";
import type { Answer, Log } from "../http/answer.ts";
import type { Connection } from "./connection.ts";

/** A trading request on a WebSocket, and its answer. The answer is dropped when the socket has closed. */
export class SocketCall implements Answer {
  private readonly connection: Connection;
  private readonly op: TradingOp;
  private readonly id: RequestId;
  private readonly quota: Quota | null;

  /** `quota`: the rest of the client's rate limit; null: no limit. */
  constructor(connection: Connection, op: TradingOp, id: RequestId, quota: Quota | null) {
    this.connection = connection;
    this.op = op;
    this.id = id;
    this.quota = quota;
    connection.inFlight++;
  }

  get done(): boolean {
    return this.connection.socket.closed;
  }

  reply(status: number, json: string): void {
    const { op, id, quota } = this;
    const rateLimit = quota === null ? "" : `,"rateLimit":${JSON.stringify(quota)}`;
    this.connection.inFlight--;
    this.connection.reply(
      `{"op":"${op}","id":${typeof id === "number" ? id : JSON.stringify(id)},"status":${status},"result":${json}${rateLimit}}`,
    );
  }

  refuse(error: ApiError): void {
    this.connection.inFlight--;
    this.connection.reply(errorJson(this.id, error, Date.now()));
  }

  fail(thrown: unknown, log: Log): void {
    if (thrown instanceof ApiError) return this.refuse(thrown);
    const { op, id } = this;
    log.error({ err: thrown, op, id, accountId: this.connection.identity?.accountId }, "a WebSocket request failed");
    this.refuse(new ApiError("INTERNAL"));
  }
}

/** For commands that the exchange sends itself. `done` stays false, so that they run without a client. */
export class DetachedAnswer implements Answer {
  readonly done = false;
  private readonly ended: () => void;

  constructor(ended: () => void) {
    this.ended = ended;
  }

  reply(): void {
    this.ended();
  }

  refuse(): void {
    this.ended();
  }

  fail(thrown: unknown, log: Log): void {
    log.error({ err: thrown }, "orders could not be canceled after a disconnect");
    this.ended();
  }
}
