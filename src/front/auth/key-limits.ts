import type { Instrument } from "../../core/protocol/instrument.ts";
import { ApiError } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";

/** The limits of an API key beside its permissions. A session (record: null) has no limits. */
type Holder = Pick<Principal, "record">;

/** Throws SYMBOL_NOT_ALLOWED when the API key may not trade this symbol. */
export function checkSymbol({ record }: Holder, { symbol }: Instrument): void {
  const allowed = record?.allowedSymbols ?? [];
  if (allowed.length > 0 && !allowed.includes(symbol))
    throw new ApiError("SYMBOL_NOT_ALLOWED", { field: "symbol", details: { allowed } });
}

/** The instrument with this symbol. Throws UNKNOWN_SYMBOL, or SYMBOL_NOT_ALLOWED when the API key may not trade it. */
export function tradableInstrument(
  { symbols }: { readonly symbols: { bySymbol(symbol: string): Instrument } },
  holder: Holder,
  symbol: string,
): Instrument {
  const instrument = symbols.bySymbol(symbol);
  checkSymbol(holder, instrument);
  return instrument;
}

/** The instruments that the API key may trade. */
export function allowedOf({ record }: Holder, instruments: readonly Instrument[]): readonly Instrument[] {
  const allowed = record?.allowedSymbols ?? [];
  return allowed.length === 0 ? instruments : instruments.filter(({ symbol }) => allowed.includes(symbol));
}

/** Throws KEY_LEVERAGE_LIMIT when the API key may not set this leverage. */
export function checkLeverage({ record }: Holder, leverage: number): void {
  const limit = record?.maxLeverage ?? 0;
  if (limit !== 0 && leverage > limit)
    throw new ApiError("KEY_LEVERAGE_LIMIT", { field: "leverage", details: { leverage, limit } });
}
