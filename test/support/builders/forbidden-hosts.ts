/**
 * Forms that lead to this machine, its networks or the cloud around it: loopback in every way that it can be written,
 * this host, private and shared networks, metadata services, IPv4 inside IPv6, multicast, documentation, reserved.
 */
export const forbiddenHosts = `
  127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.1 0x7f.0.0.0x1 017700000001 0177.0.0.1 0177.1
  127.0.0.1. 127%2e0%2e0%2e1 ①②⑦.⓪.⓪.① １２７。０。０。１
  localhost LOCALHOST localhost. any.thing.localhost [::1] [0:0:0:0:0:0:0:1] [::0001]
  0.0.0.0 0 0x0 0.1.2.3 [::]
  10.0.0.1 10.1 167772161 172.16.0.1 172.31.255.255 192.168.1.1 192.168.257 100.64.0.1 100.127.255.255
  [fc00::1] [fd12:3456::1] [fec0::1]
  169.254.169.254 169.254.1.1 0xa9fea9fe 2852039166 [fe80::1]
  [fd00:ec2::254] 100.100.100.200 168.63.129.16 192.0.0.192 [fd20:ce::254] 169.254.170.2
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:a9fe:a9fe] [::127.0.0.1] [::7f00:1]
  [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::1] [2002:7f00:1::]
  [2002:a9fe:a9fe::1] [2001:0:7f00:1::] [2001::1]
  224.0.0.1 239.255.255.250 255.255.255.255 240.0.0.1 192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 192.88.99.1
  [ff02::1] [2001:db8::1] [3fff::1] [100::1] [4000::1] [5f00::1]`
  .trim()
  .split(/\s+/);
