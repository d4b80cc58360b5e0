package edit

// Help lists the expressions of Edit.
const Help = `file PATH set-arg NAME=VALUE       set a flag of a static pod
file PATH unset-arg NAME
file PATH content TEXT             replace the content
file PATH append TEXT              add a line
file PATH mode 0600
file PATH owner USER:GROUP
file PATH move ELSEWHERE           and leave a symbolic link to there
file PATH delete
file PATH renew                    a certificate or kubeconfig, as kubeadm certs renew does
file PATH trust BASE64             a kubeconfig trusts one more CA: its certificate in PEM, in base64
yaml PATH set FIELD=VALUE          set a field, as in maxPods=50 or a.b=text
yaml PATH unset FIELD
label NODE KEY=VALUE               or KEY- to remove
annotate NODE KEY=VALUE            or KEY- to remove
taint NODE KEY=VALUE:EFFECT        or KEY:EFFECT- to remove
cordon NODE                        or uncordon NODE
node NODE delete                   the Node object, as kubectl delete node does
object KIND NAMESPACE/NAME set FIELD=VALUE
object KIND NAMESPACE/NAME delete
unit NAME start|stop|restart|enable|disable
sysctl NAME=VALUE
module NAME load|unload
link NAME@BRIDGE                   another container engine's
swap on|off
image add|remove REF
install PROGRAM=VERSION            another kubelet, kubeadm, kubectl or containerd
package NAME hold|unhold|STATUS    in the package manager's data base, as in half-configured
power on|off|reboot
foreign                            what kubewright left on the host to know it by is gone: kubeadm made it
mark NAME=VALUE                    kubewright's mark on the host, as root there could change it: lineage, format,
                                   cluster, node, ca, token, or unreadable=FILE for one that holds garbage
reinstall                          the machine as it was delivered, with another machine id
profile bare|prepared              a machine without runtime, kubelet and images, or with them
hardware NAME=VALUE                cpus, memory (MiB), kernel, os, hostname
port NUMBER listen|close           by a foreign program
preflight NAME=VALUE               what the host answers, as in kernel_missing=MEMCG or hostname_resolves=false
condition NAME on|off              unreachable, changed-host-key, refuses-key, no-sudo, no-systemd, cgroup-v1,
                                   disk-full, no-registry, no-mirror, no-forwarding, foreign-cluster,
                                   cri-disabled (of containerd, as Docker packages it),
                                   unprobed (the kubelet shows its static pods as not ready, as it does until
                                   it has probed them),
                                   unreported (their mirror pods have no status, as for ten seconds after
                                   a kubelet was restarted that had just made them)
condition no-module NAME|none          which the kernel does not have
condition no-package NAME=VERSION|none  which the package repository does not have
condition package-lock PROGRAM|off that works with the package manager
condition arch ARCH
condition clock-skew DURATION
time DURATION                      passes everywhere, as in 8000h
pod NAMESPACE/NAME NODE|delete [emptydir] [bare] [local] [unready] [terminating] [tolerant] [on=KEY=VALUE]
                                   a workload's pod that a drain has to evict: with data of its own,
                                   without a controller, with a volume on the host's disk, not ready,
                                   deleted now and never gone, that tolerates every taint, or that wants
                                   a label of its node
claim NAMESPACE/NAME NODE|delete   a PersistentVolumeClaim that no pod uses, with its volume on the host's disk
budget NAMESPACE/APP NUMBER|delete a PodDisruptionBudget: so many pods named APP-… have to stay
deprecated API RELEASE NAME        a client that signs as NAME asks the API server for API, written as
                                   GROUP/VERSION/RESOURCE, which RELEASE does not serve any more
etcd garbage BYTES                 what the host's etcd member has on its disk and does not use
etcd history BYTES                 what all members hold of the past until etcd is compacted, by API servers every
                                   five minutes
etcd alarm NOSPACE|CORRUPT         as etcd raises it of the member
etcd member ID                     it was taken out by hand and has joined again, so that it has this ID`
