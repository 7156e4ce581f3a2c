import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { Challenge, Session } from "../../../src/client/types.ts";
import { Api } from "./api.ts";

export type PrivateKey = `0x${string}`;

export const newPrivateKey = (): PrivateKey => generatePrivateKey();

export const walletOf = (privateKey: PrivateKey): PrivateKeyAccount => privateKeyToAccount(privateKey);

/** A session of the wallet, by a challenge that it has really signed. */
export async function login(url: string, privateKey: PrivateKey = newPrivateKey()): Promise<Session> {
  const api = new Api(url);
  const wallet = walletOf(privateKey);
  const signIn = async (): Promise<Session> => {
    const { message } = await api.call<Challenge>(200, "POST", "/auth/challenge", { address: wallet.address });
    const signature = await wallet.signMessage({ message });
    return api.call(200, "POST", "/auth/login", { message, signature });
  };
  // The first one has a thread started for it, which may take a slow machine longer than an answer may take.
  return signIn().catch((error) => {
    if (!/"TIMEOUT"/.test(error.message)) throw error;
    return signIn();
  });
}
