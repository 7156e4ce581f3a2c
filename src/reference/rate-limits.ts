import { type SettingName, schemaOf } from "../config/settings.ts";
import { type Cost, DEFAULT_COST, PAGE_COST, SOCKET_MESSAGES_PER_SECOND, sizeCost } from "../front/auth/limits.ts";
import { LARGE_BODY_BYTES } from "../front/http/request-body.ts";
import { costOf, isLimited, type Route } from "../front/routing/route.ts";
import { LIST_CHANNELS } from "../front/streams/channel-requests.ts";
import { OP_COSTS } from "../front/trading/operations.ts";
import { DEFAULT_BOOK_DEPTH } from "../wire/schema/channels.ts";
import { code, page, table } from "./markdown.ts";

const BUDGETS: readonly { budget: Cost["budget"]; setting: SettingName; pays: string }[] = [
  { budget: "ORDER", setting: "orderRate", pays: "placing and changing orders" },
  { budget: "CANCEL", setting: "cancelRate", pays: "canceling orders and closing positions" },
  { budget: "REQUEST", setting: "requestRate", pays: "everything else" },
];

export const costText = ({ budget, weight }: Cost): string => `${weight} of the budget ${code(budget)}`;

/** The cost of each request, and the settings that fill the budgets. */
export function rateLimitsPage(routes: readonly Route[]): string {
  const budgets = BUDGETS.map(({ budget, setting, pays }) => [
    code(budget),
    pays,
    `${schemaOf(setting).default} a second for an account`,
    `[${code(setting)}](settings.md)`,
  ]);
  const costs = routes.filter(isLimited).map((route) => ({ name: `${route.method} ${route.path}`, ...costOf(route) }));
  const ops = Object.entries(OP_COSTS).map(([op, cost]) => ({ name: op, ...cost }));
  return page(
    "Rate limits",
    "Each address, each account and each API key has a token bucket for each budget. A request takes its weight from all that apply. A key gets half of its account's rate. An address gets four times the rate of an account. An empty bucket is answered `RATE_LIMITED` (429) with `Retry-After`. Nobody is banned.",
    table(["budget", "pays for", "default rate", "setting"], budgets),
    `A batch pays one token for each item: from ${code("CANCEL")} if it only cancels, else from ${code("ORDER")}. A WebSocket that sends more than ${SOCKET_MESSAGES_PER_SECOND} messages a second beside the requests that it has paid for is closed.`,
    `The address of a body or message of more than ${LARGE_BODY_BYTES / 1024} KiB pays ${sizeCost(1).weight} from ${code("REQUEST")} for each ${LARGE_BODY_BYTES / 1024} KiB, before it is read.`,
    `A subscription to a channel pays ${DEFAULT_COST.weight} from ${code("REQUEST")}, and ${PAGE_COST.weight} if its snapshot is long: a book of more than ${DEFAULT_BOOK_DEPTH} levels, ${LIST_CHANNELS.map(code).join(", ")}. Each channel in an unsubscribe request pays ${DEFAULT_COST.weight}. The address pays. The account and the key pay too if one of the channels is private.`,
    "## Weight of each endpoint",
    costTable(costs),
    "## Weight of each trading operation on the WebSocket",
    costTable(ops),
  );
}

const costTable = (rows: readonly ({ name: string } & Cost)[]): string =>
  table(
    ["request", "budget", "weight"],
    rows.map(({ name, budget, weight }) => [code(name), code(budget), String(weight)]),
  );
