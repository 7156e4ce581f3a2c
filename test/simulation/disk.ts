import { basename, dirname } from "node:path";
import type { Files } from "../../src/store/files/files.ts";
import type { Random } from "../e2e/support/random.ts";

const SECTOR_BYTES = 512;

interface File {
  readonly kind: "file";
  /** As programs see it. */
  bytes: Uint8Array;
  size: number;
  /** What the disk itself holds, where that is something else: by sector, its content there. */
  readonly unsynced: Map<number, Uint8Array>;
  /** The same, but the kernel calls these sectors clean: their sync has failed. */
  readonly forgotten: Map<number, Uint8Array>;
  sizeOnDisk: number;
}
interface Directory {
  readonly kind: "directory";
  readonly entries: Map<string, Node>;
  /** Changes that the disk has not been told of, oldest first: what takes each back. */
  readonly unsynced: (() => void)[];
}
type Node = File | Directory;

const newFile = (): File => ({
  kind: "file",
  bytes: new Uint8Array(0),
  size: 0,
  unsynced: new Map(),
  forgotten: new Map(),
  sizeOnDisk: 0,
});
const newDirectory = (): Directory => ({ kind: "directory", entries: new Map(), unsynced: [] });

/** What can go wrong with a call, decided by the test. */
export type Fault = (call: keyof Files, path: string) => Error | null;

/**
 * A file system in memory whose disk knows only what was synced. kill() is the end of a process: what it wrote is still
 * there. cutPower() takes back any of the 512-byte sectors and of the names that were not synced, each by itself.
 */
export class SimDisk implements Files {
  /** Called before each call: the scheduler's chance to run another thread, or to kill them all. */
  onCall: () => void = () => {};
  /** Called behind each successful sync of a file. */
  onSynced: (path: string, bytes: Uint8Array) => void = () => {};
  fault: Fault = () => null;
  /** Every other write takes only a part of what it is given. */
  writesShort = false;
  private readonly random: Random;
  private readonly root = newDirectory();
  private readonly open = new Map<number, { node: Node; path: string }>();
  private nextFd = 3;

  constructor(random: Random) {
    this.random = random;
  }

  /** How many files are open. */
  get openCount(): number {
    return this.open.size;
  }

  openSync(path: string, flags: string): number {
    this.begin("openSync", path);
    let node = this.find(path);
    if (node === null) {
      if (flags !== "w+") throw failure("ENOENT", path);
      node = newFile();
      this.change([[path, node]]);
    } else if (flags === "w+" && node.kind === "file") {
      for (let at = 0; at < node.size; at += SECTOR_BYTES) keepOld(node, at / SECTOR_BYTES);
      node.bytes = new Uint8Array(0);
      node.size = 0;
    }
    const fd = this.nextFd++;
    this.open.set(fd, { node, path });
    return fd;
  }

  closeSync(fd: number): void {
    this.begin("closeSync", this.of(fd).path);
    this.open.delete(fd);
  }

  readSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number {
    const { path } = this.of(fd);
    this.begin("readSync", path);
    const file = this.fileOf(fd);
    const count = Math.max(0, Math.min(length, file.size - position));
    buffer.set(file.bytes.subarray(position, position + count), offset);
    return count;
  }

  writeSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number {
    const { path } = this.of(fd);
    this.begin("writeSync", path);
    const file = this.fileOf(fd);
    const count = this.writesShort && length > 1 && this.random.next() < 0.5 ? this.random.between(1, length) : length;
    const end = position + count;
    for (let sector = Math.floor(position / SECTOR_BYTES); sector * SECTOR_BYTES < end; sector++) keepOld(file, sector);
    if (end > file.bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * file.bytes.length));
      larger.set(file.bytes.subarray(0, file.size));
      file.bytes = larger;
    }
    file.bytes.set(buffer.subarray(offset, offset + count), position);
    file.size = Math.max(file.size, end);
    return count;
  }

  fstatSync(fd: number): { size: number } {
    return { size: this.fileOf(fd).size };
  }

  fdatasyncSync(fd: number): void {
    const { path } = this.of(fd);
    const file = this.fileOf(fd);
    this.onCall();
    const error = this.fault("fdatasyncSync", path);
    if (error !== null) {
      // Only what is written again will ever reach the disk.
      for (const [sector, old] of file.unsynced) file.forgotten.set(sector, old);
      file.unsynced.clear();
      throw error;
    }
    file.unsynced.clear();
    file.sizeOnDisk = file.size;
    this.onSynced(path, file.bytes.subarray(0, file.size));
  }

  fsyncSync(fd: number): void {
    const { node, path } = this.of(fd);
    if (node.kind === "file") return this.fdatasyncSync(fd);
    this.begin("fsyncSync", path);
    node.unsynced.length = 0;
  }

  readdirSync(path: string): string[] {
    this.begin("readdirSync", path);
    return [...this.directory(path).entries.keys()];
  }

  existsSync(path: string): boolean {
    return this.find(path) !== null;
  }

  mkdirSync(path: string): void {
    this.begin("mkdirSync", path);
    this.change([[path, newDirectory()]]);
  }

  renameSync(from: string, to: string): void {
    this.begin("renameSync", from);
    const node = this.find(from);
    if (node === null) throw failure("ENOENT", from);
    this.change([
      [from, null],
      [to, node],
    ]);
    for (const open of this.open.values()) if (open.node === node) open.path = to;
  }

  unlinkSync(path: string): void {
    this.begin("unlinkSync", path);
    if (this.find(path) === null) throw failure("ENOENT", path);
    this.change([[path, null]]);
  }

  /** The process is gone: its files are closed, and all that it wrote is there for the next one. */
  kill(): void {
    this.open.clear();
  }

  /** The machine is gone: what was not synced is there, or is not, piece by piece. */
  cutPower(): void {
    this.kill();
    const { random } = this;
    // Often all or nothing, since those are what programs get wrong first.
    const chance = random.pick([0, 0.5, 0.9, 1]);
    const lost = (): boolean => random.next() >= chance;
    const visit = (directory: Directory): void => {
      for (const takeBack of directory.unsynced.splice(0).reverse()) if (lost()) takeBack();
      for (const node of directory.entries.values())
        if (node.kind === "directory") visit(node);
        else losePieces(node, lost);
    };
    visit(this.root);
  }

  private begin(call: keyof Files, path: string): void {
    this.onCall();
    const error = this.fault(call, path);
    if (error !== null) throw error;
  }

  private of(fd: number): { node: Node; path: string } {
    const open = this.open.get(fd);
    if (open === undefined) throw failure("EBADF", String(fd));
    return open;
  }

  private fileOf(fd: number): File {
    const { node, path } = this.of(fd);
    if (node.kind !== "file") throw failure("EISDIR", path);
    return node;
  }

  private find(path: string): Node | null {
    let node: Node = this.root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      const next: Node | undefined = node.kind === "directory" ? node.entries.get(name) : undefined;
      if (next === undefined) return null;
      node = next;
    }
    return node;
  }

  private directory(path: string): Directory {
    const node = this.find(path);
    if (node?.kind !== "directory") throw failure("ENOENT", path);
    return node;
  }

  /** What names of one directory mean from now on: all of it or nothing. */
  private change(entries: [path: string, node: Node | null][]): void {
    const directory = this.directory(dirname((entries[0] as [string, Node | null])[0]));
    const before = entries.map(([path]) => [basename(path), directory.entries.get(basename(path)) ?? null] as const);
    directory.unsynced.push(() => {
      for (const [name, node] of before) setEntry(directory, name, node);
    });
    for (const [path, node] of entries) setEntry(directory, basename(path), node);
  }
}

function setEntry(directory: Directory, name: string, node: Node | null): void {
  if (node === null) directory.entries.delete(name);
  else directory.entries.set(name, node);
}

/** Before a sector changes: what the disk holds there. */
function keepOld(file: File, sector: number): void {
  if (file.unsynced.has(sector)) return;
  const forgotten = file.forgotten.get(sector);
  if (forgotten !== undefined) {
    file.unsynced.set(sector, forgotten);
    file.forgotten.delete(sector);
    return;
  }
  const old = new Uint8Array(SECTOR_BYTES);
  old.set(file.bytes.subarray(sector * SECTOR_BYTES, Math.min(file.size, (sector + 1) * SECTOR_BYTES)));
  file.unsynced.set(sector, old);
}

function losePieces(file: File, lost: () => boolean): void {
  if (file.size !== file.sizeOnDisk && lost()) {
    const bytes = new Uint8Array(file.sizeOnDisk);
    bytes.set(file.bytes.subarray(0, Math.min(file.size, file.sizeOnDisk)));
    file.bytes = bytes;
    file.size = file.sizeOnDisk;
  }
  for (const [sector, old] of [...file.unsynced, ...file.forgotten]) {
    const at = sector * SECTOR_BYTES;
    if (at < file.size && lost()) file.bytes.set(old.subarray(0, Math.min(SECTOR_BYTES, file.size - at)), at);
  }
  file.unsynced.clear();
  file.forgotten.clear();
  file.sizeOnDisk = file.size;
}

export function failure(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
