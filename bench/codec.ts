import { Packr } from "msgpackr";
import { OrderPlaced, Traded } from "../src/core/protocol/events.ts";
import { blank, type Message, type MessageSchema } from "../src/core/protocol/message-schema.ts";
import { Random } from "../src/sandbox/random.ts";
import { decodeShared, encodeMessage } from "../src/wire/codec.ts";
import { collectGarbage } from "./support/garbage.ts";
import { interleave, type Row, ratioRow } from "./support/report.ts";

const PEER = "msgpackr array";
const MESSAGES = 1024;
const PASSES = 300;
const BUFFER_BYTES = 512 * 1024;

/**
 * Our codec of rings and log against msgpackr, which packs the same fields into an array by position. Both read the
 * fields from an object; only ours decodes into one.
 */
export async function benchCodec(rounds: number): Promise<Row[]> {
  return [...(await compare(OrderPlaced, rounds)), ...(await compare(Traded, rounds))];
}

type Work = () => void;

async function compare(shape: MessageSchema, rounds: number): Promise<Row[]> {
  const messages = Array.from({ length: MESSAGES }, (_, i) => randomMessage(shape, i + 1));
  const ours = ourCodec(messages);
  const theirs = msgpackr(shape, messages);
  ours.check();
  theirs.check();
  const rows: Row[] = [];
  for (const way of ["encode", "decode"] as const) {
    for (const work of [ours[way], theirs[way]]) rate(work); // warm-up
    const [our, their] = await interleave(
      rounds,
      () => rate(ours[way]),
      () => rate(theirs[way]),
    );
    rows.push(ratioRow(`codec, ${shape.name}, ${way}`, "messages/s", PEER, our, their));
  }
  return rows;
}

interface Codec {
  /** Each call processes all messages. */
  encode: Work;
  decode: Work;
  /** Throws when decoding does not return what was encoded. */
  check: Work;
}

function ourCodec(messages: readonly Message[]): Codec {
  const bytes = new Uint8Array(BUFFER_BYTES);
  const view = new DataView(bytes.buffer);
  const starts = new Int32Array(messages.length);
  let sum = 0;
  const codec = {
    encode() {
      let at = 0;
      for (let i = 0; i < messages.length; i++) {
        starts[i] = at;
        at = encodeMessage(view, bytes, at, messages[i]);
      }
    },
    decode() {
      for (const start of starts) sum += decodeShared(view, bytes, start).type;
    },
    check() {
      codec.encode();
      codec.decode();
      messages.forEach((message, i) => {
        mustEqual(Object.values(decodeShared(view, bytes, starts[i])), Object.values(message));
      });
      if (Number.isNaN(sum)) throw new Error("a message without a type");
    },
  };
  return codec;
}

function msgpackr(shape: MessageSchema, messages: readonly Message[]): Codec {
  const packr = new Packr({ useRecords: false });
  const toArray = compileToArray(shape);
  const packed: Buffer[] = new Array(messages.length);
  const codec = {
    encode() {
      for (let i = 0; i < messages.length; i++) packed[i] = packr.pack(toArray(messages[i]));
    },
    decode() {
      for (const bytes of packed) packr.unpack(bytes);
    },
    check() {
      codec.encode();
      messages.forEach((message, i) => {
        mustEqual(packr.unpack(packed[i]), Object.values(message));
      });
    },
  };
  return codec;
}

/** Generates code as fast as a hand-written literal. */
function compileToArray(shape: MessageSchema): (message: Message) => unknown[] {
  const fields = ["type", ...Object.keys(shape.fields)].map((name) => `m.${name}`);
  return new Function("m", `return [${fields.join(", ")}];`) as (message: Message) => unknown[];
}

/** Fills in ids beyond 2^32, prices, amounts, small enums and client order ids. */
function randomMessage(shape: MessageSchema, seed: number): Message {
  const random = new Random(seed, shape.name);
  const message = blank(shape) as Record<string, unknown>;
  for (const [name, kind] of Object.entries(shape.fields)) {
    if (kind === "string") message[name] = `client-${Math.floor(random.uniform() * 1e9)}`;
    else if (/Id$/.test(name)) message[name] = Math.floor(random.uniform() * 2 ** 40);
    else if (/Ticks$|Lots$/.test(name)) message[name] = Math.floor(random.uniform() * 2 ** 20);
    else if (/Quanta$|Hash$/.test(name)) message[name] = Math.floor(random.uniform() * 2 ** 36);
    else message[name] = Math.floor(random.uniform() * 4);
  }
  return message as unknown as Message;
}

function mustEqual(decoded: readonly unknown[], message: readonly unknown[]): void {
  if (decoded.length === message.length && decoded.every((value, i) => value === message[i])) return;
  throw new Error(`${JSON.stringify(message)} came back as ${JSON.stringify(decoded)}`);
}

/** Messages a second. */
function rate(work: Work): number {
  collectGarbage();
  const from = performance.now();
  for (let pass = 0; pass < PASSES; pass++) work();
  return (MESSAGES * PASSES) / ((performance.now() - from) / 1e3);
}
