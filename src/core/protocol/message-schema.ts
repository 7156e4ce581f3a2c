/**
 * A message is a flat list of named fields, declared once. Its TypeScript type, its blank object and its bytes
 * (wire/codec.ts) follow from the declaration.
 *
 * `number` is a safe integer, `string` is text, `json<T>()` is anything that msgpackr carries (rare messages only).
 */
type FieldKind = "number" | "string" | "json";
declare const carried: unique symbol;
export type Json<T> = "json" & { readonly [carried]?: T };
export const json = <T>(): Json<T> => "json";

export type Fields = Record<string, FieldKind>;

export interface MessageSchema<C extends number = number, F extends Fields = Fields> {
  readonly code: C;
  readonly name: string;
  readonly fields: F;
}

type ValueOf<K> = K extends "number" ? number : K extends "string" ? string : K extends Json<infer T> ? T : never;

export type MessageOf<S> =
  S extends MessageSchema<infer C, infer F> ? { type: C } & { -readonly [K in keyof F]: ValueOf<F[K]> } : never;

/** Any message. The codec finds the schema by its type. */
export interface Message {
  type: number;
}

export const MESSAGE_SCHEMAS = new Map<number, MessageSchema>();

/** Declares a message. The code stays on disk for ever: never reuse one, and only append fields. Throws if it is taken. */
export function defineMessage<const C extends number, const F extends Fields>(
  code: C,
  name: string,
  fields: F,
): MessageSchema<C, F> {
  if (MESSAGE_SCHEMAS.has(code)) throw new Error(`message code ${code} is taken`);
  const declared = { code, name, fields };
  MESSAGE_SCHEMAS.set(code, declared);
  return declared;
}

/** A message whose fields are all zero, "" or null. It keeps one hidden class, so it may be filled in again and again. */
export function blank<S extends MessageSchema>(of: S): MessageOf<S> {
  let make = makers.get(of.code);
  if (make === undefined) {
    make = compileMaker(of);
    makers.set(of.code, make);
  }
  return make() as MessageOf<S>;
}

const makers = new Map<number, () => unknown>();

/**
 * Compiles a literal, so that the fields lie inside the object. Numbers start as a fraction: then V8 keeps them as
 * doubles, and no store has to test whether the number fits into a small integer.
 */
function compileMaker(of: MessageSchema): () => unknown {
  const entries = Object.entries(of.fields);
  const numbers = entries.filter(([, kind]) => kind === "number");
  const fields = entries.map(
    ([name, kind]) => `${name}: ${kind === "number" ? "0.5" : kind === "string" ? '""' : "null"}`,
  );
  const zeros = numbers.map(([name]) => `m.${name} = 0;`);
  return new Function(
    `const m = { type: ${of.code}, ${fields.join(", ")} }; ${zeros.join(" ")} return m;`,
  ) as () => unknown;
}
