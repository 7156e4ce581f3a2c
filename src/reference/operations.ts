import { type SocketRequest, socketRequests } from "../front/documents/socket-requests.ts";
import type { Route } from "../front/routing/route.ts";
import { TRADING_PARAMS, type TradingOp } from "../wire/schema/trading.ts";
import { anchor, code, codes, fieldsTable, page, table } from "./markdown.ts";
import { costText } from "./rate-limits.ts";

/** Every `op` that a client may send on the WebSocket. */
export function operationsPage(routes: readonly Route[]): string {
  const requests = socketRequests(routes);
  const overview = table(
    ["op", "summary"],
    requests.map(({ op, summary }) => [`[${code(op)}](#${anchor(op)})`, summary]),
  );
  return page(
    "WebSocket operations",
    'Each message is `{"op":...,"id":...}`; the answer repeats `id`. A refused request is answered `{"op":"error","id":...,"code":"..."}`. Trading operations take `params` and answer with the body of the REST endpoint that does the same.',
    overview,
    ...requests.map(operationText),
  );
}

function operationText({ op, summary, description, examples, errors, cost }: SocketRequest): string {
  const params = op in TRADING_PARAMS ? fieldsTable(TRADING_PARAMS[op as TradingOp]) : "";
  return [
    `## ${code(op)}`,
    `${summary}.`,
    ...(description === undefined ? [] : [description]),
    ...(params === "" ? [] : ["`params`:", params]),
    ...examples.slice(0, 1).map((example) => `\`\`\`json\n${JSON.stringify(example)}\n\`\`\``),
    table(
      ["", ""],
      [...(cost === undefined ? [] : [["cost", costText(cost)]]), ["[errors](errors.md)", codes(errors)]],
    ),
  ].join("\n\n");
}
