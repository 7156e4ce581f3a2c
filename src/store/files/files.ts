import * as fs from "node:fs";
import { dirname, resolve } from "node:path";

/** Two names or open files with the same numbers are the same file. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * The part of node:fs that the log uses. The simulation in test/simulation replaces it by a disk that loses everything that
 * was not synced.
 */
export interface Files {
  /** Throws ENOENT if the file is missing. */
  statSync(path: string): FileIdentity;
  openSync(path: string, flags: string): number;
  closeSync(fd: number): void;
  readSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number;
  /** Returns how many bytes were written, which may be fewer than `length`. */
  writeSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number;
  fstatSync(fd: number): FileIdentity & { size: number };
  fdatasyncSync(fd: number): void;
  fsyncSync(fd: number): void;
  readdirSync(path: string): string[];
  existsSync(path: string): boolean;
  mkdirSync(path: string): void;
  renameSync(from: string, to: string): void;
  unlinkSync(path: string): void;
}

export const DISK: Files = fs;

/** Runs `work`. Errors on an open file do not name it, so the name is put in front of the message. */
export function withFileName<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && !("path" in error)) error.message = `${name}: ${error.message}`;
    throw error;
  }
}

/**
 * Throws if `path` no longer leads to `file`, which is open. Writes to a removed file are lost when it is closed, and a start
 * would find another file, or none.
 */
export function requireSameFile(path: string, file: FileIdentity, files: Files = DISK): void {
  const named = unlessMissing(() => files.statSync(path));
  if (named === null) throw new Error(`${path}: this file was removed or renamed while it was in use`);
  if (named.ino !== file.ino || named.dev !== file.dev)
    throw new Error(`${path}: another file has replaced this one while it was in use`);
}

/** The result of `work`, or null if the file that it needs does not exist. */
export function unlessMissing<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Makes creations, renames and removals in a directory durable. */
export function syncDirectory(dir: string, files: Files = DISK): void {
  const fd = files.openSync(dir, "r");
  try {
    withFileName(dir, () => files.fsyncSync(fd));
  } finally {
    files.closeSync(fd);
  }
}

/**
 * Creates the folder and its missing parents; durable when it returns. It creates them one by one, because Node 20 loops for
 * ever with `recursive` in places such as /proc, where the parent exists and the folder cannot be created.
 */
export function makeFolder(dir: string, files: Files = DISK): void {
  if (files.existsSync(dir)) return;
  const parent = dirname(resolve(dir));
  makeFolder(parent, files);
  try {
    files.mkdirSync(dir);
  } catch (error) {
    // Another process created it first.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  syncDirectory(parent, files);
}

/** Writes all of `bytes` at `position` of the file. */
export function writeFully(fd: number, bytes: Uint8Array, position: number, files: Files = DISK): void {
  let written = 0;
  while (written < bytes.length) {
    written += files.writeSync(fd, bytes, written, bytes.length - written, position + written);
  }
}

/** Reads `length` bytes to the start of `buffer`, fewer if the file ends. Returns how many. */
export function readFully(
  fd: number,
  buffer: Uint8Array,
  length: number,
  position: number,
  files: Files = DISK,
): number {
  let done = 0;
  while (done < length) {
    const count = files.readSync(fd, buffer, done, length - done, position + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}
