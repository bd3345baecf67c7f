/** Faults of access: certificates and passwords that are rotated, and quotas. */
import { setTimeout as sleep } from "node:timers/promises";
import { type BrokerFault, safe } from "./fault.ts";
import type { BrokerScene } from "./scene.ts";

/** Each connection is made anew. */
async function restartBrokers({ cluster }: BrokerScene): Promise<void> {
  for (const broker of cluster.brokers) {
    await broker.end();
    await broker.start();
    await cluster.whole();
  }
}

/** Brokers get new certificates and the pipeline a new one of its own; one after the other, as both are valid. */
async function rotateCertificates(scene: BrokerScene): Promise<void> {
  const { cluster, pipeline, random } = scene;
  await cluster.rotateCertificates();
  if (random.below(2) === 0) await restartBrokers(scene);
  const { clientCert: client_cert, clientKey: client_key } = await cluster.newClientCertificate();
  await pipeline.write({}, { client_cert, client_key });
  await sleep(3_000);
}

/** The password is another one, and its clients hear of it later. */
async function rotatePassword(scene: BrokerScene): Promise<void> {
  const { cluster, pipeline, random } = scene;
  await cluster.rotatePassword();
  if (random.below(2) === 0) await restartBrokers(scene);
  await sleep(2_000 + random.below(3_000));
  pipeline.control.usePassword(cluster.user.password);
  await pipeline.write();
  await sleep(3_000);
}

/** Brokers make consumers wait, by less than what is written and then by no limit again. */
async function throttle({ cluster, random }: BrokerScene): Promise<void> {
  await cluster.setConsumerQuota(2_000 + random.below(20_000));
  await sleep(4_000 + random.below(4_000));
  await cluster.setConsumerQuota(undefined);
  await sleep(2_000);
}

export const accessFaults: readonly BrokerFault[] = [
  {
    name: "certificates rotated",
    times: 4,
    plans: [{ ...safe, protocol: "SSL" }],
    isRepeated: true,
    befall: rotateCertificates,
  },
  {
    name: "password rotated",
    times: 4,
    plans: [{ ...safe, protocol: "SASL_SSL", mechanism: "SCRAM-SHA-512" }],
    isRepeated: true,
    patience: 120_000,
    befall: rotatePassword,
  },
  {
    name: "quotas",
    times: 4,
    plans: [{ ...safe, padding: 1_000 }],
    isRepeated: true,
    patience: 120_000,
    befall: throttle,
  },
];
