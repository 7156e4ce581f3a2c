import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils";

/** A wallet whose key this page makes and keeps in memory only. For test money: nobody can bring the key back. */
export interface DemoWallet {
  readonly address: string;
  /** EIP-191 personal_sign. */
  sign(message: string): Promise<string>;
}

export function newDemoWallet(): DemoWallet {
  const key = secp256k1.utils.randomPrivateKey();
  const publicKey = secp256k1.getPublicKey(key, false).subarray(1);
  return {
    address: `0x${bytesToHex(keccak_256(publicKey).subarray(-20))}`,
    async sign(message) {
      const text = utf8ToBytes(message);
      const head = utf8ToBytes(`\x19Ethereum Signed Message:\n${text.length}`);
      const signature = secp256k1.sign(keccak_256(concatBytes(head, text)), key);
      return `0x${signature.toCompactHex()}${(27 + signature.recovery).toString(16)}`;
    },
  };
}
