// Refuses bad UTF-8, and leaves a byte order mark in place for JSON.parse to refuse.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws a TypeError on what is not valid UTF-8. */
export const decodeUtf8 = (bytes: ArrayBuffer | Uint8Array): string => utf8.decode(bytes);

/**
 * What uWebSockets.js is to send, its `length` in bytes. Only ASCII as a string: the build for Node 24 writes é and its like
 * in Latin-1.
 */
export const encodeUtf8 = (text: string | Uint8Array): string | Uint8Array =>
  Buffer.byteLength(text) === text.length ? text : Buffer.from(text as string);
