import { type Dict, NotSupported } from "ccxt";

/** Kinds of markets that ccxt's params name. */
const KINDS_HERE: ReadonlySet<string> = new Set(["swap", "future", "futures", "contract", "linear"]);
const KINDS_ELSEWHERE: ReadonlySet<string> = new Set(["spot", "margin", "delivery", "option", "inverse"]);
const KIND_PARAMS: ReadonlySet<string> = new Set(["type", "subType", "defaultType", "defaultSubType"]);

/**
 * Without an effect here. A request has no margin mode. Lists follow their cursors by themselves. There is one wallet.
 * Conditional orders are in the same stream as others; readKind() in trading.ts filters the lists.
 */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  "marginMode",
  "paginate",
  "paginationCalls",
  "paginationDirection",
  "maxEntriesPerRequest",
  "maxRetries",
  "removeRepeated",
  "portfolioMargin",
  "trigger",
  "stop",
  "trailing",
]);

/**
 * Params for the exchange: without those of ccxt's unified ones that choose what is the only choice here, and without
 * undefined ones. Throws NotSupported for another choice, such as the type `spot`.
 */
export function ownParams(params: Dict): Dict {
  const own: Dict = {};
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null || WITHOUT_EFFECT.has(name)) continue;
    if (name === "hedged") {
      if (value === true) throw new NotSupported("perpd has no hedge mode: a symbol has one position");
      continue;
    }
    if (KIND_PARAMS.has(name)) {
      const kind = String(value).toLowerCase();
      if (KINDS_ELSEWHERE.has(kind)) throw new NotSupported(`perpd has linear swaps only, and no ${name} ${kind}`);
      if (KINDS_HERE.has(kind)) continue;
    }
    own[name] = value;
  }
  return own;
}

/** How many rows a call reads with ccxt's `paginate` and without a limit; undefined = without `paginate`. */
export function rowsOfPagination({ paginate, paginationCalls = 10 }: Dict, rowsPerCall: number): number | undefined {
  return paginate === true ? paginationCalls * rowsPerCall : undefined;
}
