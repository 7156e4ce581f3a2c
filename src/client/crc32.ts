/** The reflected polynomial of zip and PNG. */
const POLYNOMIAL = 0xedb88320;

/** The checksum of each byte. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ POLYNOMIAL;
  return value;
});

/** The CRC-32 of an ASCII text, as that of zlib. Browsers have none. */
export function crc32(text: string): number {
  let crc = -1;
  for (let i = 0; i < text.length; i++) crc = (crc >>> 8) ^ TABLE[(crc ^ text.charCodeAt(i)) & 0xff]!;
  return ~crc >>> 0;
}
