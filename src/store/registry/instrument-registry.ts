import { join } from "node:path";
import { type Config, ConfigError } from "../../config.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { compileInstrument, type InstrumentConfig, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import { DatabaseCorruptError, readGenesis } from "../files/genesis.ts";
import { readIfPresent, toJson, writeDurably } from "../files/small-files.ts";
import { actorsWithState } from "./actors-with-state.ts";

/**
 * What gives stored numbers their meaning: the log and the database hold ids, ticks and lots, and money that was made of
 * tick × lot. Under another tick, step or symbol the same bytes would be other orders and positions. Whatever else is
 * configured of an instrument (fees, tiers, limits) may change from start to start.
 */
export interface InstrumentIdentity {
  readonly id: number;
  readonly symbol: string;
  readonly baseAsset: string;
  readonly quoteAsset: string;
  /** Decimals without trailing zeros. */
  readonly tickSize: string;
  readonly stepSize: string;
}

/** Beside genesis.json: the identity of every instrument that was ever started in this folder. */
export const INSTRUMENTS_FILE = "instruments.json";
const FORMAT_VERSION = 1;
const FIXED = ["symbol", "baseAsset", "quoteAsset", "tickSize", "stepSize"] as const;

/** Null where nothing is recorded: in a new folder, and in one that no start has touched since there is a record. */
export function readInstruments(dir: string): InstrumentIdentity[] | null {
  const path = join(dir, INSTRUMENTS_FILE);
  const text = readIfPresent(path);
  if (text === null) return null;
  const record = parse(text);
  if (record === null) throw new DatabaseCorruptError(`${path}: cannot be read`);
  if (record.formatVersion !== FORMAT_VERSION)
    throw new DatabaseCorruptError(
      `${path}: is of format ${record.formatVersion}, this program reads ${FORMAT_VERSION}`,
    );
  return record.instruments;
}

/** Throws ConfigError unless all instruments of the record are configured as what they were begun. */
export function requireSameInstruments(
  known: readonly InstrumentIdentity[],
  configured: readonly InstrumentConfig[],
): void {
  const now = configured.map(identityOf);
  for (const begun of known) {
    const same = now.find(({ id }) => id === begun.id);
    if (same === undefined) {
      const renumbered = now.find(({ symbol }) => symbol === begun.symbol);
      if (renumbered !== undefined) throw changed(begun, "id", renumbered.id);
      throw new ConfigError(
        `instruments: ${begun.symbol} (id ${begun.id}) is missing, and the data folder has it: ${KEEP}`,
      );
    }
    const other = FIXED.find((name) => same[name] !== begun[name]);
    if (other !== undefined) throw changed(begun, other, same[other]);
  }
}

/** Of state whose instrument is not configured, in a folder that does not say which one that was. */
export function instrumentNotConfigured(actorId: number): ConfigError {
  return new ConfigError(
    `instruments: no instrument has the id ${actorId}, and the data folder has state of it: ${KEEP}`,
  );
}

const KEEP = "keep it in the configuration (--config), and halt it if it shall not trade";

/**
 * At a start, before anything else is written: refuses instruments that are not those of the folder (ConfigError), and
 * records those that are new. On disk when it resolves. A folder from before there was a record is taken to be of the
 * instruments that are configured, if these are all that it has state of.
 */
export async function registerInstruments({ data: dir, instruments: configured }: Config): Promise<void> {
  const isNew = readGenesis(dir) === null;
  const known = readInstruments(dir);
  if (known !== null) requireSameInstruments(known, configured);
  else if (!isNew) await requireAllConfigured(dir, configured);
  const ids = new Set(known?.map(({ id }) => id));
  const added = configured.filter(({ id }) => !ids.has(id)).map(identityOf);
  if (added.length === 0) return;
  const record = { formatVersion: FORMAT_VERSION, instruments: [...(known ?? []), ...added] };
  writeDurably(dir, INSTRUMENTS_FILE, toJson(record));
}

async function requireAllConfigured(dir: string, configured: readonly InstrumentConfig[]): Promise<void> {
  for (const actorId of await actorsWithState(dir))
    if (actorId !== LEDGER && !configured.some(({ id }) => id === actorId)) throw instrumentNotConfigured(actorId);
}

function changed(begun: InstrumentIdentity, name: keyof InstrumentIdentity, value: string | number): ConfigError {
  return new ConfigError(
    `instruments: ${begun.symbol} was begun with ${name} ${begun[name]}, it cannot become ${value}`,
  );
}

/** Tick and step as one tick and one lot are printed: "0.10" is no other tick than "0.1". */
function identityOf(config: InstrumentConfig): InstrumentIdentity {
  const { id, symbol, baseAsset, quoteAsset } = config;
  const instrument = compileInstrument(config);
  const tickSize = printPrice(instrument, 1);
  const stepSize = printQuantity(instrument, 1);
  return { id, symbol, baseAsset, quoteAsset, tickSize, stepSize };
}

function parse(text: string): { formatVersion: number; instruments: InstrumentIdentity[] } | null {
  try {
    const { formatVersion, instruments } = JSON.parse(text);
    const isWhole = (instrument: InstrumentIdentity): boolean =>
      Number.isInteger(instrument.id) && FIXED.every((name) => typeof instrument[name] === "string");
    if (typeof formatVersion !== "number") return null;
    if (formatVersion === FORMAT_VERSION && !instruments.every(isWhole)) return null;
    return { formatVersion, instruments };
  } catch {
    return null;
  }
}
