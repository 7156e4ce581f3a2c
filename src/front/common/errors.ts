import { printQuanta } from "../../core/base/units.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { RefusalDetails } from "../../core/protocol/refusals.ts";
import type { Refused } from "../../core/protocol/replies.ts";
import { ERRORS, type ErrorCode, messageOf, specOf } from "../../wire/error-codes.ts";

export type ErrorDetails = Record<string, number | string | boolean | null | readonly (number | string)[]>;

export interface ErrorParts {
  /** Replaces the code's default message. */
  message?: string;
  /** The field that was wrong: "quantity", "permissions.0". */
  field?: string;
  details?: ErrorDetails;
}

/** An answer other than success. It is thrown, but it is no Error: a client's mistake needs no stack trace. */
export class ApiError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly field: string | undefined;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, parts: ErrorParts = {}) {
    this.code = code;
    this.message = parts.message ?? messageOf(code);
    this.field = parts.field;
    this.details = parts.details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryable(): boolean {
    return specOf(this.code).retryable === true;
  }

  /** This error inside a part of the request: its field is prefixed with `at`, the name of the part. */
  within(at: string): ApiError {
    const field = this.field === undefined ? at : `${at}.${this.field}`;
    return this.about(field);
  }

  /** This error with another name of the field at fault. */
  about(field: string): ApiError {
    const { code, message, details } = this;
    return new ApiError(code, { message, field, ...(details && { details }) });
  }

  /** JSON of one item's error in an answer that is a success as a whole. */
  toItemJson(): string {
    const { code, message, field, details, retryable } = this;
    return JSON.stringify({ code, message, field, details, retryable });
  }

  /** JSON of an error answer over HTTP. */
  toJson(requestId: string): string {
    return JSON.stringify({
      code: this.code,
      message: this.message,
      field: this.field,
      details: this.details,
      retryable: this.retryable,
      requestId,
      serverTime: Date.now(),
    });
  }
}

/** `field`: the one at fault. */
export const badCombination = (field: string, message: string): ApiError =>
  new ApiError("BAD_COMBINATION", { field, message });

/** The core's refusal as the client sees it. `instrument` prints prices and quantities; refusals of the ledger have none. */
export function fromRefused(
  refused: Pick<MessageOf<typeof Refused>, "code" | "field" | "details">,
  instrument?: Instrument,
): ApiError {
  const parts: ErrorParts = {};
  if (refused.field !== "") parts.field = refused.field;
  if (refused.details !== null) parts.details = printDetails(refused.details, instrument);
  return new ApiError(refused.code as ErrorCode, parts);
}

/** `{ requiredQuanta: 1500000 }` → `{ required: "1.5" }`: the unit at the end of the name decides how the value is printed. */
export function printDetails(details: RefusalDetails, instrument: Instrument | undefined): RefusalDetails {
  const printed: RefusalDetails = {};
  for (const [key, value] of Object.entries(details)) {
    const [name, text] = typeof value === "number" ? printUnit(key, value, instrument) : [key, value];
    printed[name] = text;
  }
  return printed;
}

function printUnit(key: string, value: number, instrument: Instrument | undefined): [string, number | string] {
  if (key.endsWith("Quanta")) return [key.slice(0, -6), printQuanta(value)];
  // The same name as in errors of the gateway.
  if (key === "retryAfterMs") return [key, value];
  if (key.endsWith("Ms")) return [key.slice(0, -2), value];
  if (instrument && key.endsWith("Ticks")) return [key.slice(0, -5), printPrice(instrument, value)];
  if (instrument && key.endsWith("Lots")) return [key.slice(0, -4), printQuantity(instrument, value)];
  return [key, value];
}
