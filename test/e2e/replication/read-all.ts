import type { BatchStream } from "../../../src/replication/stream.ts";
import { StreamReader } from "../../../src/replication/stream-reader.ts";
import { EXCHANGE } from "../../replication/support.ts";

/** The sequences of all transactions in the stream. */
export async function readAll(stream: BatchStream): Promise<number[]> {
  const reader = new StreamReader(stream, EXCHANGE, 1);
  const found: number[] = [];
  await reader.seek();
  while (await reader.read((_bytes, sequence) => void found.push(sequence)));
  return found;
}
