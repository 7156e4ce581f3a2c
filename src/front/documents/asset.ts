import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Call } from "../http/call.ts";

const compress = promisify(gzip);

/** A constant reply body, plain and compressed. */
export interface Asset {
  readonly contentType: string;
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** Compresses once, in the thread pool of Node.js. */
export async function makeAsset(contentType: string, text: string | Uint8Array): Promise<Asset> {
  const plain = Buffer.from(text);
  return { contentType, plain, gzipped: await compress(plain) };
}

export function replyAsset(call: Call, { contentType, plain, gzipped }: Asset): void {
  call.header("Vary", "Accept-Encoding");
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?(,|$))/.test(call.acceptEncoding);
  if (takesGzip) call.header("Content-Encoding", "gzip");
  call.reply(200, takesGzip ? gzipped : plain, contentType);
}

/** Calls `make` at the first use and keeps its result. A failed call is repeated at the next use. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((thrown) => {
      made = null;
      throw thrown;
    });
    return made;
  };
}
