import type { Challenge, Session } from "../../../src/client/types.ts";
import { Api } from "./api.ts";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "./wallet-keys.ts";

export type PrivateKey = `0x${string}`;

export const newPrivateKey = (): PrivateKey => generatePrivateKey();

export const walletOf = (privateKey: PrivateKey): PrivateKeyAccount => privateKeyToAccount(privateKey);

/** Opens a session with a really signed challenge. */
export async function login(url: string, privateKey: PrivateKey = newPrivateKey()): Promise<Session> {
  const api = new Api(url);
  const wallet = walletOf(privateKey);
  const signIn = async (): Promise<Session> => {
    const { message } = await api.call<Challenge>(200, "POST", "/auth/challenge", { address: wallet.address });
    const signature = await wallet.signMessage({ message });
    return api.call(200, "POST", "/auth/login", { message, signature });
  };
  // The first login starts a thread, which may exceed the request timeout on a slow machine.
  return signIn().catch((error) => {
    if (!/"TIMEOUT"/.test(error.message)) throw error;
    return signIn();
  });
}
