import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { makeFolder } from "./files.ts";
import { readIfPresent, toJson, writeDurably } from "./small-files.ts";

/**
 * Two small files beside the database tell whether it may be created. LMDB silently opens a missing or empty file as a new
 * database, and a new database would be an exchange without balances.
 *
 *     genesis.json       written first: this folder belongs to an exchange
 *     initialised.json   written after the database was created: from now on it must exist
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

/** The database is damaged, missing, or belongs to another exchange. Nothing is repaired and no new one is created. */
export class DatabaseCorruptError extends Error {
  override name = "DatabaseCorruptError";
}

/** Returns null if the folder never held an exchange. Throws DatabaseCorruptError if the file is lost or unreadable. */
export function readGenesis(dir: string): Genesis | null {
  const text = readIfPresent(join(dir, GENESIS_FILE));
  if (text === null) {
    if (!isInitialised(dir)) return null;
    const why = `this is an unfinished copy, or ${GENESIS_FILE} was lost`;
    throw new DatabaseCorruptError(`${dir}: ${INITIALISED_FILE} without ${GENESIS_FILE}: ${why}`);
  }
  const genesis = parseGenesis(text);
  if (genesis === null) throw new DatabaseCorruptError(`${join(dir, GENESIS_FILE)}: cannot be read`);
  if (genesis.formatVersion !== FORMAT_VERSION) {
    const versions = `has format ${genesis.formatVersion}, this program reads format ${FORMAT_VERSION}`;
    throw new DatabaseCorruptError(`${join(dir, GENESIS_FILE)}: ${versions}`);
  }
  return genesis;
}

/** Creates the folder and its genesis file. Durable when it returns. */
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

/** Records that the database exists: from now on an empty one is refused. Durable when it returns. */
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
