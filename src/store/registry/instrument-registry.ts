import { join } from "node:path";
import { type Config, ConfigError } from "../../config.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { compileInstrument, type InstrumentConfig, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import { DatabaseCorruptError, readGenesis } from "../files/genesis.ts";
import { readIfPresent, toJson, writeDurably } from "../files/small-files.ts";
import { actorsWithState } from "./actors-with-state.ts";

/**
 * The fields of an instrument that give stored numbers their meaning. The log and the database hold ids, ticks, lots, and
 * money computed from tick × lot. With another tick, step or symbol the same bytes would mean other orders and positions.
 * Fees, risk tiers and limits may change from start to start.
 */
interface InstrumentIdentity {
  readonly id: number;
  readonly symbol: string;
  readonly baseAsset: string;
  readonly quoteAsset: string;
  /** A decimal without trailing zeros. */
  readonly tickSize: string;
  readonly stepSize: string;
}

/** A file beside genesis.json. It holds the identity of every instrument that was ever started in this folder. */
export const INSTRUMENTS_FILE = "instruments.json";
const FORMAT_VERSION = 1;
const FIXED = ["symbol", "baseAsset", "quoteAsset", "tickSize", "stepSize"] as const;

/** Returns null if nothing is recorded: in a new folder, and in one that was last started by an older version. */
export function readInstruments(dir: string): InstrumentIdentity[] | null {
  const path = join(dir, INSTRUMENTS_FILE);
  const text = readIfPresent(path);
  if (text === null) return null;
  const record = parse(text);
  if (record === null) throw new DatabaseCorruptError(`${path}: cannot be read`);
  if (record.formatVersion !== FORMAT_VERSION)
    throw new DatabaseCorruptError(
      `${path}: has format ${record.formatVersion}, this program reads format ${FORMAT_VERSION}`,
    );
  return record.instruments;
}

/** Throws ConfigError unless all recorded instruments are configured with the same identity. */
export function requireSameInstruments(
  known: readonly InstrumentIdentity[],
  configured: readonly InstrumentConfig[],
): void {
  const now = configured.map(identityOf);
  for (const recorded of known) {
    const same = now.find(({ id }) => id === recorded.id);
    if (same === undefined) {
      const renumbered = now.find(({ symbol }) => symbol === recorded.symbol);
      if (renumbered !== undefined) throw changed(recorded, "id", renumbered.id);
      throw new ConfigError(
        `instruments: ${recorded.symbol} (id ${recorded.id}) is missing, but the data folder has state of it: ${KEEP}`,
      );
    }
    const other = FIXED.find((name) => same[name] !== recorded[name]);
    if (other !== undefined) throw changed(recorded, other, same[other]);
  }
}

/** For state of an instrument that is neither configured nor recorded. */
export function instrumentNotConfigured(actorId: number): ConfigError {
  return new ConfigError(
    `instruments: no instrument has the id ${actorId}, but the data folder has state of it: ${KEEP}`,
  );
}

const KEEP = "keep it in the configuration (--config), and halt it if it should not trade";

/**
 * At a start, before anything else is written: checks the configured instruments against those of the folder (ConfigError)
 * and records new ones. Durable when it resolves. In a folder without a record, every instrument that has state must be
 * configured.
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

function changed(recorded: InstrumentIdentity, name: keyof InstrumentIdentity, value: string | number): ConfigError {
  return new ConfigError(
    `instruments: ${recorded.symbol} was first started with ${name} ${recorded[name]}; this cannot be changed to ${value}`,
  );
}

/** Tick and step are normalized by printing one tick and one lot: "0.10" is the same tick as "0.1". */
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
