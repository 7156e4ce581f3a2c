import { createInbox, errors, type Msg, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node";
import { REQUEST_TIMEOUT_MS, WRONG_LAST_SEQUENCE } from "./nats-answers.ts";
import { UnknownOutcomeError } from "./stream.ts";

const LAST_SEQUENCE_HEADER = "Nats-Expected-Last-Sequence";

/** Of JetStream to a message: https://docs.nats.io/reference/reference-protocols/nats_api_reference */
interface Answer {
  readonly seq?: number;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

/**
 * Appends messages to a stream, one after the other. It does as jetstream().publish() of the NATS client with two thirds of the
 * processor time: that makes errors, promises and a timer for each message, which only its failures need.
 */
export class Appender {
  private readonly connection: NatsConnection;
  private readonly subject: string;
  private readonly inbox = createInbox();
  private attempts = 0;
  private replyTo = "";
  private settle: (outcome: Msg | Error) => void = () => {};

  constructor(connection: NatsConnection, subject: string) {
    this.connection = connection;
    this.subject = subject;
    connection.subscribe(`${this.inbox}.*`, {
      callback: (_error, message) => {
        // An answer to an earlier attempt says nothing of this one.
        if (message.subject === this.replyTo) this.settle(message);
      },
    });
    void this.hearRefusals();
  }

  /**
   * Resolves when the message is in the stream, right behind the message `place`. Returns false if another message is there.
   * Throws UnknownOutcomeError if the server says neither.
   */
  async append(data: Uint8Array, headers: MsgHdrs, place: number): Promise<boolean> {
    headers.set(LAST_SEQUENCE_HEADER, String(place));
    const { seq, error } = await this.send(data, headers);
    if (error?.err_code === WRONG_LAST_SEQUENCE) return false;
    if (error === undefined && seq === place + 1) return true;
    throw new UnknownOutcomeError(error?.description ?? `the server says that it is message ${seq}`);
  }

  private async send(data: Uint8Array, headers: MsgHdrs): Promise<Answer> {
    let timer: NodeJS.Timeout | undefined;
    try {
      const outcome = await new Promise<Msg | Error>((resolve) => {
        this.settle = resolve;
        timer = setTimeout(() => resolve(new Error("timeout")), REQUEST_TIMEOUT_MS);
        this.replyTo = `${this.inbox}.${++this.attempts}`;
        this.connection.publish(this.subject, data, { headers, reply: this.replyTo });
      });
      if (outcome instanceof Error) throw outcome;
      if (outcome.data.length === 0) throw new Error("no JetStream answers");
      return outcome.json<Answer>();
    } catch (error) {
      throw new UnknownOutcomeError((error as Error).message, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  /** A server that forbids a message does not answer it. */
  private async hearRefusals(): Promise<void> {
    for await (const status of this.connection.status())
      if (
        status.type === "error" &&
        status.error instanceof errors.PermissionViolationError &&
        status.error.subject === this.subject
      )
        this.settle(status.error);
  }
}
