import { basename, dirname } from "node:path";
import type { FileIdentity, Files } from "../../src/store/files/files.ts";
import type { Random } from "../e2e/support/random.ts";

const SECTOR_BYTES = 512;

interface File {
  readonly kind: "file";
  /** As programs see it. */
  bytes: Uint8Array;
  size: number;
  /** Sectors that differ from the disk, with their content on disk. */
  readonly unsynced: Map<number, Uint8Array>;
  /** The same for sectors that the kernel takes for clean after a failed sync. */
  readonly forgotten: Map<number, Uint8Array>;
  sizeOnDisk: number;
}
interface Directory {
  readonly kind: "directory";
  readonly entries: Map<string, Node>;
  /** Functions that undo the unsynced changes, oldest first. */
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

/** Decides whether a call fails, and with which error. */
export type Fault = (call: keyof Files, path: string) => Error | null;

/**
 * A file system in memory that knows which writes were synced. kill() ends a process: its writes stay. cutPower() undoes
 * any of the unsynced 512-byte sectors and names, each independently.
 */
export class SimDisk implements Files {
  /** Called before each operation, so that the scheduler can run another thread or kill all. */
  onCall: () => void = () => {};
  /** Called after each successful sync of a file. */
  onSynced: (path: string, bytes: Uint8Array) => void = () => {};
  fault: Fault = () => null;
  /** Every second write writes only a part of its bytes. */
  writesShort = false;
  private readonly random: Random;
  private readonly root = newDirectory();
  private readonly open = new Map<number, { node: Node; path: string }>();
  private readonly inodes = new WeakMap<Node, number>();
  private nextFd = 3;
  private nextInode = 1;

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
      if (!flags.startsWith("w")) throw failure("ENOENT", path);
      node = newFile();
      this.change([[path, node]]);
    } else if (flags.startsWith("w") && node.kind === "file") {
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

  statSync(path: string): FileIdentity {
    this.begin("statSync", path);
    const node = this.find(path);
    if (node === null) throw failure("ENOENT", path);
    return this.identityOf(node);
  }

  fstatSync(fd: number): FileIdentity & { size: number } {
    const file = this.fileOf(fd);
    return { ...this.identityOf(file), size: file.size };
  }

  fdatasyncSync(fd: number): void {
    const { path } = this.of(fd);
    const file = this.fileOf(fd);
    this.onCall();
    const error = this.fault("fdatasyncSync", path);
    if (error !== null) {
      // As on Linux: sectors of a failed sync count as clean, and only a new write brings them to the disk.
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

  /** Ends the process: closes its files and keeps its writes. */
  kill(): void {
    this.open.clear();
  }

  /** Ends the machine: each unsynced change is kept or undone at random. */
  cutPower(): void {
    this.kill();
    const { random } = this;
    // All or nothing often: these are the most likely to break a program.
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

  private identityOf(node: Node): FileIdentity {
    const ino = this.inodes.get(node) ?? this.nextInode++;
    this.inodes.set(node, ino);
    return { dev: 1, ino };
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

  /** Changes names of one directory, as one change that is kept or undone as a whole. */
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

/** Call it before a sector changes: remembers its content on disk. */
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
