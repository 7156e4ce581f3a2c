import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { type RawAnswer, sendRaw } from "../front/raw.ts";
import { checkError } from "./support/api.ts";
import { newSeed } from "./support/random.ts";
import { startServer, type TestServer } from "./support/server.ts";
import { openTarget, type Target } from "./support/untouched.ts";

const BODIES = 1500;
const RAW_REQUESTS = 400;
const RAW_AT_ONCE = 50;

let server: TestServer;
let target: Target;

before(async () => {
  server = await startServer();
  target = await openTarget(server);
});

after(async () => {
  await target.operator.soundAudit();
  assert.doesNotMatch(server.stderr, /"level":(50|60)/, "the server has logged no error");
  await server.dispose();
});

const text = fc.string();
const oneOf = <T>(...values: T[]) => fc.constantFrom(...values);
const strange = oneOf<unknown>(
  ...["", "0", "-1", "1e9", "NaN", "0.0000000000001", "9".repeat(30), "\u0000", 1, -0, null, true, [], {}],
);
/** The usual, but for one in thirty. */
const usually = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 29, arbitrary: usual }, { weight: 1, arbitrary: fc.oneof(fc.jsonValue(), strange) });
const extra = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, maxKeys: 1 });
const maybe = (value: fc.Arbitrary<unknown>) => fc.option(usually(value), { freq: 2, nil: undefined });
const prices = fc.nat(4000).map((tenths) => (64_800 + tenths / 10).toFixed(1).replace(".0", ""));

/** Orders, most of them nearly right. */
const order = fc
  .record({
    symbol: usually(oneOf("BTC-PERP", "BTC-PERP", "ETH-PERP")),
    side: usually(oneOf("BUY", "SELL")),
    type: usually(oneOf("LIMIT", "LIMIT", "LIMIT", "MARKET")),
    price: fc.option(usually(prices), { freq: 10, nil: undefined }),
    quantity: usually(oneOf("0.001", "0.002", "0.01", "0.1", "1", "100")),
    timeInForce: maybe(oneOf("GTC", "IOC", "FOK")),
    postOnly: maybe(fc.boolean()),
    reduceOnly: maybe(fc.boolean()),
    clientOrderId: maybe(fc.oneof(fc.nat(50).map(String), fc.string({ maxLength: 40 }))),
    selfTradePreventionMode: maybe(oneOf("EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT")),
    expiresAt: maybe(oneOf(1, 2 ** 52)),
    more: fc.oneof({ weight: 19, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: extra }),
  })
  .map(({ more, ...fields }) => ({ ...fields, ...more }));

test("no body makes an error of the server's", async (t) => {
  const seed = newSeed();
  t.diagnostic(`seed ${seed}`);
  const bodies = fc.sample(
    fc.oneof({ weight: 8, arbitrary: order }, { weight: 1, arbitrary: fc.jsonValue() }, { weight: 1, arbitrary: text }),
    { seed, numRuns: BODIES },
  );
  let taken = 0;
  await Promise.all(
    [target.alice, target.bob].map(async (trader, half) => {
      for (let i = half; i < bodies.length; i += 2) {
        const body = typeof bodies[i] === "string" ? bodies[i] : JSON.stringify(bodies[i]);
        const answer = await trader.request("POST", "/orders", body);
        if (answer.status < 300) taken++;
        else checkError(answer);
        assert.ok(answer.status < 500, `${JSON.stringify(body)}: ${answer.text}`);
      }
    }),
  );
  t.diagnostic(`${taken} of ${bodies.length} were orders`);
  assert.ok(taken > BODIES / 20, "many were orders");
});

/** A sound request, with a few bytes changed, cut out, doubled or put in. */
const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.nat(8),
  insert: fc.oneof(
    fc.string({ maxLength: 6 }),
    oneOf(
      "\r\n",
      "\0",
      "\n",
      " ",
      ":",
      "\r\n\r\n",
      "Content-Length: 3\r\n",
      "Transfer-Encoding: chunked\r\n",
      "%",
      "\xff",
      "GET / HTTP/1.1\r\n",
    ),
  ),
});
const raw = fc
  .record({ template: fc.nat(3), mutations: fc.array(mutation, { minLength: 1, maxLength: 4 }) })
  .map(({ template, mutations }) => {
    let text = templates()[template] ?? "";
    for (const { at, remove, insert } of mutations) {
      const from = Math.floor(at * text.length);
      text = text.slice(0, from) + insert + text.slice(from + remove);
    }
    return text;
  });

function templates(): string[] {
  const body = JSON.stringify({ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" });
  const bearer = `Host: x\r\nAuthorization: Bearer ${target.alice.token}\r\n`;
  return [
    `POST /v1/orders HTTP/1.1\r\n${bearer}Content-Length: ${body.length}\r\n\r\n${body}`,
    `GET /v1/orders/history?symbol=BTC-PERP&limit=5 HTTP/1.1\r\n${bearer}\r\n`,
    `DELETE /v1/orders/client:none HTTP/1.1\r\n${bearer}\r\n`,
    `GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  ];
}

test("no bytes make an error of the server's", async (t) => {
  const seed = newSeed();
  t.diagnostic(`seed ${seed}`);
  const noise = fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
  const requests = fc.sample(fc.oneof({ weight: 7, arbitrary: raw }, { weight: 1, arbitrary: noise }), {
    seed,
    numRuns: RAW_REQUESTS,
  });
  for (let i = 0; i < requests.length; i += RAW_AT_ONCE) {
    const batch = requests.slice(i, i + RAW_AT_ONCE);
    const answers = await Promise.all(batch.map((text) => sendRaw(server.port, text)));
    for (const [k, answer] of answers.entries()) checkAnswer(batch[k] ?? "", answer);
  }
  assert.equal((await target.alice.request("GET", "/health")).status, 200);
});

function checkAnswer(text: string, answer: RawAnswer): void {
  const statuses = [...answer.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1]));
  // 505 is what the parser of uWebSockets.js says itself when a line does not end in HTTP/1.1: nothing has run.
  for (const status of statuses) assert.ok(status < 500 || status === 505, `${JSON.stringify(text)}: ${answer.text}`);
}
