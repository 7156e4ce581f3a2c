import type { RequestId } from "../../../src/front/common/socket-errors.ts";
import type { Connection } from "../../../src/front/websocket/connection.ts";
import type { OnReply, Relay } from "../../../src/front/websocket/relay.ts";
import type { ScriptedClient } from "./scripted-client.ts";
import type { Exchange } from "./scripted-exchange.ts";

/** A gateway's way to a leader. Requests arrive at once; the leader's answers wait until the test delivers them. */
export class ScriptedRelay implements Relay {
  private readonly leader: Exchange;
  private readonly links = new Map<Connection, ScriptedClient>();
  private readonly answers: (() => void)[] = [];

  constructor(leader: Exchange) {
    this.leader = leader;
  }

  /** Delivers the oldest answers. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < count && this.answers.length > 0; i++) this.answers.shift()?.();
  }

  has(connection: Connection): boolean {
    return this.links.has(connection);
  }

  send(connection: Connection, _id: RequestId, message: Uint8Array): void {
    const texts = this.linkOf(connection).ask(new TextDecoder().decode(message));
    this.answers.push(() => {
      for (const text of texts) connection.send(JSON.stringify(text));
    });
  }

  request(connection: Connection, id: RequestId, request: object, onReply: OnReply): void {
    const [reply] = this.linkOf(connection).ask({ ...request, id: "own" });
    this.answers.push(() => {
      if (reply.op === "error") connection.send(JSON.stringify({ ...reply, id }));
      if (!connection.socket.closed) onReply(reply.op === "error" ? null : reply);
    });
  }

  close(connection: Connection): void {
    this.links.delete(connection);
  }

  private linkOf(connection: Connection): ScriptedClient {
    const link = this.links.get(connection) ?? this.leader.connect();
    this.links.set(connection, link);
    return link;
  }
}
