import type { RequestId } from "../common/socket-errors.ts";
import type { Connection } from "./connection.ts";

/** The connections of a gateway's clients to the leader: one for each client that needs it. */
export interface Relay {
  /** Whether the client has a connection, or one is being made. */
  has(connection: Connection): boolean;
  /**
   * Sends a message as it came, and makes the connection first if there is none. Everything that the leader sends goes to the
   * client. `id`: of the message, for a refusal. Throws OVERLOADED.
   */
  send(connection: Connection, id: RequestId, message: Uint8Array): void;
  /**
   * Sends a request of which the client must not see the reply. Null: it was refused, and the client has got the error with
   * its `id`. Nothing is called after the client's socket has closed. Throws OVERLOADED.
   */
  request(connection: Connection, id: RequestId, request: object, onReply: OnReply): void;
  /** The client's socket has closed. */
  close(connection: Connection): void;
}

/** The leader's reply to a request. */
export interface RelayedReply {
  /** Only of subscribe and unsubscribe requests. */
  readonly channels?: readonly object[];
}

export type OnReply = (reply: RelayedReply | null) => void;
