import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { makeFolder } from "./files.ts";
import { readIfPresent, toJson, writeDurably } from "./small-files.ts";

/**
 * Two small files beside the database say whether there may be a fresh one: LMDB opens an empty or missing file as a new
 * database without a word, and a new database would be an exchange without balances.
 *
 *     genesis.json       written first: this folder is an exchange
 *     initialised.json   written when the database had been made: from now on it must be there
 */
export interface Genesis {
  readonly formatVersion: number;
  readonly exchangeId: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

export const GENESIS_FILE = "genesis.json";
export const INITIALISED_FILE = "initialised.json";
const FORMAT_VERSION = 1;

/** The database is not as it was written, or not the one that belongs here. Nothing is repaired or begun anew. */
export class DatabaseCorruptError extends Error {
  override name = "DatabaseCorruptError";
}

/** Null where no exchange has been. */
export function readGenesis(dir: string): Genesis | null {
  const text = readIfPresent(join(dir, GENESIS_FILE));
  if (text === null) {
    if (!isInitialised(dir)) return null;
    const reasons = `an unfinished copy, or ${GENESIS_FILE} was lost`;
    throw new DatabaseCorruptError(`${dir}: ${INITIALISED_FILE} without ${GENESIS_FILE}: ${reasons}`);
  }
  const genesis = parseGenesis(text);
  if (genesis === null) throw new DatabaseCorruptError(`${join(dir, GENESIS_FILE)}: cannot be read`);
  if (genesis.formatVersion !== FORMAT_VERSION) {
    const versions = `is of format ${genesis.formatVersion}, this program reads ${FORMAT_VERSION}`;
    throw new DatabaseCorruptError(`${join(dir, GENESIS_FILE)}: ${versions}`);
  }
  return genesis;
}

/** Makes the folder an exchange. On disk when it returns. */
export function createGenesis(dir: string): Genesis {
  makeFolder(dir);
  const createdAt = new Date().toISOString();
  const genesis: Genesis = { formatVersion: FORMAT_VERSION, exchangeId: randomUUID(), createdAt };
  writeDurably(dir, GENESIS_FILE, toJson(genesis));
  return genesis;
}

export function isInitialised(dir: string): boolean {
  return fs.existsSync(join(dir, INITIALISED_FILE));
}

/** The database exists and says whose it is: from now on an empty one is refused. On disk when it returns. */
export function markInitialised(dir: string, genesis: Genesis): void {
  writeDurably(dir, INITIALISED_FILE, toJson({ exchangeId: genesis.exchangeId }));
}

function parseGenesis(text: string): Genesis | null {
  try {
    const genesis = JSON.parse(text) as Partial<Genesis> | null;
    if (typeof genesis?.formatVersion !== "number" || typeof genesis.exchangeId !== "string") return null;
    return genesis as Genesis;
  } catch {
    return null;
  }
}
