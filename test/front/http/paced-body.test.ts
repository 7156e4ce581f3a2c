import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplyWriter } from "../../../src/front/http/reply-writer.ts";
import { FakeResponse } from "../support/fake-call.ts";

const BODY_BYTES = 1 << 20;
const PIECE_BYTES = 1 << 16;
const PIECES_PER_ITERATION = 4;

test("long bodies go out in pieces, by turns, a few in each event-loop iteration", async () => {
  let isOver = false;
  /** The names of those that got a piece, by iteration. */
  const iterations: string[][] = [[]];
  class Client extends FakeResponse {
    readonly name: string;
    private bytes = 0;

    constructor(name: string) {
      super();
      this.name = name;
    }

    /** `b` has no room for its fourth piece, and asks for it again. */
    override tryEnd(piece: string | Uint8Array): [boolean, boolean] {
      assert.ok(piece.length <= PIECE_BYTES, `${piece.length} bytes at once`);
      iterations.at(-1)?.push(this.name);
      if (this.name === "b" && this.bytes === 3 * PIECE_BYTES && !isOver) return [false, false];
      this.text += Buffer.from(piece as string).toString();
      this.bytes += piece.length;
      return [true, this.bytes === BODY_BYTES];
    }

    resume: (sentBytes: number) => boolean = () => false;
    override onWritable(send: (sentBytes: number) => boolean): void {
      this.resume = send;
    }
  }
  const body = "xyz".repeat(BODY_BYTES).slice(0, BODY_BYTES);
  const iterationsUntil = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) {
      iterations.push([]);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const [a, b] = [new Client("a"), new Client("b")];
  new ReplyWriter(a, "GET").reply(200, Buffer.from(body));
  new ReplyWriter(b, "GET").reply(200, body);
  await iterationsUntil(() => a.text.length === BODY_BYTES);
  assert.equal(b.text.length, 3 * PIECE_BYTES, "a client that does not read gets no more pieces");
  isOver = true;
  b.resume(3 * PIECE_BYTES);
  await iterationsUntil(() => b.text.length === BODY_BYTES);
  assert.ok(a.text === body && b.text === body);
  for (const names of iterations) assert.ok(names.length <= PIECES_PER_ITERATION, names.join());
  assert.deepEqual(iterations.flat().slice(0, 8).join(""), "abababab");
});
