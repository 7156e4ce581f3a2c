import { readFileSync } from "node:fs";

const GIB = 2 ** 30;
/** Linux only. The limit is a number of bytes, or "unlimited". */
const LIMIT = /^Max address space +(\d+)/m;
const LIMITS_FILE = "/proc/self/limits";
const STATUS_FILE = "/proc/self/status";
const SIZE_KIB = /^VmSize:\s+(\d+)/m;

/**
 * Throws unless the process may reserve so many more bytes of address space. A library that cannot reserve its share ends the
 * process without a reason. Without Linux's files it does nothing.
 */
export function requireAddressSpace(bytes: number): void {
  const limit = numberIn(LIMITS_FILE, LIMIT);
  if (limit === null) return;
  const needed = bytes + (numberIn(STATUS_FILE, SIZE_KIB) ?? 0) * 1024;
  if (limit >= needed) return;
  throw new Error(
    `the limit of address space is ${gib(limit)}, and ${gib(needed)} are needed. They are reserved, not used. Raise the limit: ulimit -v unlimited`,
  );
}

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;

function numberIn(path: string, pattern: RegExp): number | null {
  try {
    const found = pattern.exec(readFileSync(path, "utf8"));
    return found === null ? null : Number(found[1]);
  } catch {
    return null;
  }
}
