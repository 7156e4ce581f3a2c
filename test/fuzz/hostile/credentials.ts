import assert from "node:assert/strict";
import type { CreatedApiKey } from "../../../src/client/types.ts";
import type { Headers } from "../../e2e/support/api.ts";
import { signed } from "../../e2e/support/keys.ts";
import { Random } from "../../e2e/support/random.ts";
import type { FuzzStage } from "../stage.ts";
import { AttackedExchange } from "./attacked-exchange.ts";
import { hostileText, mutateText } from "./hostile-input.ts";

const ORDER = JSON.stringify({ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.001" });
const HEX = [..."0123456789abcdef"];

/** Replaces characters that node does not send in a header. */
const printable = (text: string): string => text.replace(/[^\x21-\x7e\x80-\xff]/g, "~");

/** The text with one character replaced. */
function replaced(random: Random, text: string, alphabet: readonly string[]): string {
  const at = random.between(0, text.length - 1);
  const other = alphabet.filter((each) => each !== text[at]?.toLowerCase() && each !== text[at]);
  return text.slice(0, at) + random.pick(other) + text.slice(at + 1);
}

/** Invalid credentials, made from valid ones. */
function wrongHeaders(random: Random, token: string, key: CreatedApiKey): Headers {
  const sound = signed(key, "POST", "/orders", ORDER);
  const { "x-signature": signature = "", "x-timestamp": timestamp = "" } = sound;
  switch (random.between(0, 8)) {
    case 0:
      return { authorization: `Bearer ${replaced(random, token, [...HEX, "-", "_"])}` };
    case 1:
      return { authorization: `x${printable(hostileText(random))}` };
    case 2:
      return {
        authorization: `Bearer ${printable(mutateText(random, token.slice(1), ["A", "=", " ", "%", "\xff"]))}~`,
      };
    case 3:
      return { ...sound, "x-signature": replaced(random, signature, HEX) };
    case 4:
      return { ...sound, "x-signature": `z${printable(hostileText(random))}` };
    case 5:
      return { ...sound, "x-timestamp": String(Number(timestamp) - random.between(1, 4000)) };
    case 6:
      return { ...sound, "x-timestamp": `x${printable(hostileText(random))}` };
    case 7:
      return { ...sound, "x-recv-window": `-${printable(hostileText(random))}` };
    default:
      return { ...sound, "x-api-key": replaced(random, key.apiKey, HEX) };
  }
}

function* inputs(random: Random, count: number, token: string, key: CreatedApiKey): Generator<Headers> {
  for (let i = 0; i < count; i++) yield wrongHeaders(random, token, key);
}

/** Invalid credentials in headers. */
export const CREDENTIALS: FuzzStage = {
  name: "credentials",
  runs: 15_000,
  run: (seed, runs, say) =>
    AttackedExchange.run(say, async (victim) => {
      const { alice } = victim.target;
      const attempts = inputs(new Random(seed), runs, alice.token ?? "", victim.key.key);
      await victim.sendAll(attempts, async (headers) => {
        const { status, text } = await victim.anonymous.request("POST", "/orders", ORDER, headers);
        assert.ok([400, 401, 403].includes(status), `${JSON.stringify(headers)}: ${text}`);
        return false;
      });
    }),
};
