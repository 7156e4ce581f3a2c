import type { TimeMs } from "../../core/base/units.ts";
import type { InstrumentConfig } from "../../core/protocol/instrument.ts";
import { packPlain, unpackPlain } from "../../wire/codec.ts";
import type { SymbolState } from "./symbol-market.ts";

const VERSION = 1;

/** A symbol's public data, from which a gateway goes on with the stream. */
export interface SymbolPage {
  readonly exchangeId: string;
  /** Of the leader that has made it. */
  readonly epoch: number;
  /** The last transaction, of any symbol, that the leader had released. */
  readonly sequence: number;
  /** See Engine.releasedTime. */
  readonly time: TimeMs;
  readonly config: InstrumentConfig;
  readonly state: SymbolState;
  /** The leader believes the X-Forwarded-For of the process that has asked. */
  readonly isTrustedProxy: boolean;
}

export const packSymbolPage = (page: SymbolPage): Uint8Array => packPlain({ version: VERSION, ...page });

/** Throws an Error for a page of another version of the program. */
export function readSymbolPage(bytes: Uint8Array): SymbolPage {
  const { version, ...page } = unpackPlain(bytes) as SymbolPage & { version?: number };
  if (version !== VERSION)
    throw new Error(
      `the leader's state has version ${version}, and this program reads ${VERSION}: run the same program`,
    );
  // Small ones come as numbers.
  const minutes = page.state.minutes.map((minute) => ({ ...minute, turnoverQuanta: BigInt(minute.turnoverQuanta) }));
  return { ...page, state: { ...page.state, minutes } };
}
