import type { JetStreamApiError } from "@nats-io/jetstream";
import { UnknownOutcomeError } from "./stream.ts";

/** No answer within this time: the outcome is unknown. */
export const REQUEST_TIMEOUT_MS = 1000;
/** Of JetStream's errors. */
export const WRONG_LAST_SEQUENCE = 10071;

/** Rejects with UnknownOutcomeError, which names `what`, if the server does not answer as it should. */
export async function answered<T>(what: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw unknownOutcome(what, error as Error);
  }
}

/** Of a compare-and-set: false if another message was there. Throws UnknownOutcomeError for any other error. */
export function falseIfOther(what: string, error: unknown): false {
  if ((error as JetStreamApiError).code === WRONG_LAST_SEQUENCE) return false;
  throw unknownOutcome(what, error as Error);
}

const unknownOutcome = (what: string, error: Error): UnknownOutcomeError =>
  new UnknownOutcomeError(`${what}: ${error.message}`, { cause: error });
