import type { MarginMode, Position } from "../client/types.ts";
import { type Call, type Command, count, oneOf, text, UsageError } from "./command.ts";
import { placedText } from "./trading.ts";

const MARGIN_MODES = ["CROSS", "ISOLATED"] as const;

export const close: Command = {
  name: "close",
  usage: "SYMBOL [QUANTITY]",
  summary: "close a position at market, all of it or a part",
  needsCredentials: true,
  async run({ client, positionals: [symbol = "", quantity], terminal: { print, paint }, asJson }) {
    const placed = await client.closePosition(symbol, quantity === undefined ? {} : { quantity });
    print(asJson ? JSON.stringify(placed) : placedText(paint, placed));
  },
};

export const leverage: Command = {
  name: "leverage",
  usage: "SYMBOL LEVERAGE",
  summary: "set the leverage of a symbol",
  needsCredentials: true,
  async run({ client, positionals: [symbol = "", given = ""], terminal: { print }, asJson }) {
    const set = await client.setLeverage(symbol, count({ leverage: given }, "leverage") ?? 0);
    print(asJson ? JSON.stringify(set) : `${set.symbol} ${set.leverage}x`);
  },
};

export const margin: Command = {
  name: "margin",
  usage: "SYMBOL [cross|isolated]",
  summary: "set the margin mode of a symbol, or move an isolated position's margin",
  options: {
    add: { type: "string", argument: "USDC", description: "move this amount from the account to the position" },
    remove: { type: "string", argument: "USDC", description: "move this amount from the position to the account" },
    reference: {
      type: "string",
      argument: "TEXT",
      description: "idempotency key: repeated moves with it are applied once",
    },
  },
  needsCredentials: true,
  async run(call) {
    const set = await marginChange(call);
    if (call.asJson) return call.terminal.print(JSON.stringify(set));
    const aside =
      "isolatedMargin" in set && set.isolatedMargin !== null ? `, isolated margin ${set.isolatedMargin} USDC` : "";
    call.terminal.print(`${set.symbol} ${set.marginMode}${aside}`);
  },
};

function marginChange({ client, positionals, values }: Call): Promise<MarginMode | Position> {
  const [symbol = "", mode] = positionals;
  const [add, remove] = [text(values, "add"), text(values, "remove")];
  if ([mode, add, remove].filter((given) => given !== undefined).length !== 1)
    throw new UsageError("margin takes one of cross, isolated, --add and --remove");
  if (mode !== undefined) return client.setMarginMode(symbol, oneOf("mode", mode, MARGIN_MODES));
  return client.moveMargin(symbol, add ?? `-${remove}`, text(values, "reference"));
}
